#include "facts.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "penstock/depend.h"

namespace penstock {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// B for I: what an op gives, whoever gives it.
Op given(Op op) {
  if (op.kind == OpKind::BackwardInput) op.kind = OpKind::Backward;
  return op;
}

// Every unit is worked as F and B, or as F, I and W.
bool is_all_the_work(const Pipeline& pipeline, const std::set<Op>& ops, std::size_t steps) {
  std::size_t expected = 0;
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    const Microbatch& microbatch = pipeline.microbatches[m];
    for (const std::int32_t stage : pipeline.routes[index(microbatch.route)]) {
      for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
        const auto has = [&](OpKind kind) {
          return ops.contains({kind, stage, static_cast<std::int32_t>(m), slice});
        };
        const bool split = has(OpKind::BackwardInput) && has(OpKind::BackwardWeight);
        if (!has(OpKind::Forward) || has(OpKind::Backward) == split) return false;
        expected += split ? 3 : 2;
      }
    }
  }
  return ops.size() == expected && steps == expected;
}

// Steps [first, end) of one actor start together.
std::size_t together_end(const std::vector<Step>& steps, std::size_t first) {
  std::size_t end = first + 1;
  while (end < steps.size() && steps[end].overlaps_previous) ++end;
  return end;
}

bool gets_through(const Schedule& schedule) {
  const Dependencies dependencies(schedule.pipeline);
  std::set<Op> done;
  std::vector<std::size_t> at(schedule.order.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t actor = 0; actor < at.size(); ++actor) {
      const std::vector<Step>& steps = schedule.order[actor];
      if (at[actor] == steps.size()) continue;
      const std::size_t end = together_end(steps, at[actor]);
      if (end - at[actor] > 2) return false;
      bool ready = true;
      for (std::size_t i = at[actor]; i < end; ++i) {
        for (const Op& input : dependencies.inputs(steps[i].op)) {
          ready = ready && done.contains(input);
        }
      }
      if (!ready) continue;
      for (; at[actor] < end; ++at[actor]) done.insert(given(steps[at[actor]].op));
      progress = true;
    }
  }
  for (std::size_t actor = 0; actor < at.size(); ++actor) {
    if (at[actor] != schedule.order[actor].size()) return false;
  }
  return true;
}

class Faults {
 public:
  explicit Faults(const Program& program)
      : program_(program), dependencies_(program.schedule.pipeline) {}

  std::vector<std::string> find() {
    computes();
    messages();
    actions();
    return std::move(faults_);
  }

 private:
  template <typename... Values>
  void expect(bool holds, fmt::format_string<Values...> what, const Values&... values) {
    if (!holds) faults_.push_back(fmt::vformat(what, fmt::make_format_args(values...)));
  }

  std::int32_t actor_of(std::int32_t stage) const {
    return program_.schedule.pipeline.stages[index(stage)].actor;
  }

  void computes() {
    std::vector<std::vector<Step>> order(program_.schedule.order.size());
    std::size_t start = 0;  // of the pair
    for (std::size_t i = 0; i < program_.computes.size(); ++i) {
      const Compute& compute = program_.computes[i];
      order[index(compute.actor)].push_back({compute.op, compute.overlaps_previous});
      if (!compute.overlaps_previous) start = i;
      if (gives_input_gradient(compute.op.kind) || compute.op.kind == OpKind::Forward) {
        given_by_[given(compute.op)] = i;
      }
      std::int32_t remote = 0;
      for (const Op& input : dependencies_.inputs(compute.op)) {
        const auto giver = given_by_.find(input);
        expect(giver != given_by_.end() && giver->second < start, "{} runs before its input {}",
               to_string(compute.op), to_string(input));
        if (actor_of(input.stage) == compute.actor) continue;
        ++remote;
        if (compute.awaits < 0) {
          expect(false, "{} awaits nothing", to_string(compute.op));
        } else {
          const Message& message = program_.messages[index(compute.awaits)];
          const Op& producer = program_.computes[index(message.producer)].op;
          expect(given(producer) == input, "{} gets {}", to_string(compute.op),
                 to_string(producer));
          expect(index(message.consumer) == i, "message {} is not for {}", compute.awaits,
                 to_string(compute.op));
        }
      }
      expect(remote == (compute.awaits >= 0 ? 1 : 0), "{} has {} inputs from elsewhere",
             to_string(compute.op), remote);
    }
    expect(order == program_.schedule.order, "the computes are not the schedule's");
  }

  void messages() {
    std::set<std::int32_t> consumers;
    for (const Message& message : program_.messages) {
      const Compute& producer = program_.computes[index(message.producer)];
      const Compute& consumer = program_.computes[index(message.consumer)];
      expect(message.from != message.to, "a message stays on actor {}", message.from);
      expect(producer.actor == message.from && consumer.actor == message.to,
             "a message from {} to {} has its ends elsewhere", message.from, message.to);
      expect((producer.op.kind == OpKind::Forward) == (message.kind == OpKind::Forward),
             "{} gives the wrong kind of message", to_string(producer.op));
      expect(consumers.insert(message.consumer).second, "{} has two messages",
             to_string(consumer.op));
    }
  }

  void actions() {
    std::vector<int> sends(program_.messages.size(), 0);
    std::vector<int> receives(program_.messages.size(), 0);
    for (std::size_t actor = 0; actor < program_.actions.size(); ++actor) {
      std::map<std::tuple<std::int32_t, OpKind>, std::int32_t> numbers;
      std::int32_t last = -1;  // compute
      for (const Action& action : program_.actions[actor]) {
        if (action.kind == ActionKind::Compute) {
          const Compute& compute = program_.computes[index(action.index)];
          expect(action.index > last, "actor {} is no cut of the linear order", actor);
          expect(index(compute.actor) == actor, "actor {} runs another's op", actor);
          expect(compute.awaits < 0 || receives[index(compute.awaits)] == 1,
                 "{} uses what is not received", to_string(compute.op));
          last = action.index;
        } else if (action.kind == ActionKind::Send) {
          const Message& message = program_.messages[index(action.index)];
          expect(index(message.from) == actor, "actor {} sends another's message", actor);
          expect(message.producer <= last && message.producer >= last - 1,
                 "message {} does not follow its producer", action.index);
          expect(message.number == numbers[{message.to, message.kind}]++,
                 "message {} is out of number", action.index);
          ++sends[index(action.index)];
        } else if (action.kind == ActionKind::Receive) {
          const Message& message = program_.messages[index(action.index)];
          expect(index(message.to) == actor, "actor {} receives another's message", actor);
          ++receives[index(action.index)];
        }
      }
    }
    for (std::size_t i = 0; i < sends.size(); ++i) {
      expect(sends[i] == 1 && receives[i] == 1, "message {} is sent {} times, received {}", i,
             sends[i], receives[i]);
    }
  }

  const Program& program_;
  const Dependencies dependencies_;
  std::map<Op, std::size_t> given_by_;
  std::vector<std::string> faults_;
};

}  // namespace

bool can_run(const Schedule& schedule) {
  std::set<Op> ops;
  std::size_t steps = 0;
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    if (!schedule.order[actor].empty() && schedule.order[actor][0].overlaps_previous) return false;
    for (const Step& step : schedule.order[actor]) {
      const auto stage = index(step.op.stage);
      if (stage >= schedule.pipeline.stages.size()) return false;
      if (index(schedule.pipeline.stages[stage].actor) != actor) return false;
      ops.insert(step.op);
      ++steps;
    }
  }
  return is_all_the_work(schedule.pipeline, ops, steps) && gets_through(schedule);
}

std::vector<std::string> faults(const Program& program) {
  return Faults(program).find();
}

}  // namespace penstock
