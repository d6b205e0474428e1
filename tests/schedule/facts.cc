#include "facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "penstock/depend.h"
#include "penstock/index.h"

namespace penstock {
namespace {

// B for I: what an op gives, whoever gives it.
Op given(Op op) {
  if (op.kind == OpKind::BackwardInput) op.kind = OpKind::Backward;
  return op;
}

Op backward_of(Op op) {
  op.kind = OpKind::Backward;
  return op;
}

// Every unit is worked as F and B, or as F, I and W, maybe with an R; as F alone where nothing is
// learnt. Updates are of the stages' own microbatches.
bool is_all_the_work(const Pipeline& pipeline, const std::set<Op>& ops, std::size_t steps) {
  std::size_t expected = 0;
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    const Microbatch& microbatch = pipeline.microbatches[m];
    for (const std::int32_t stage : pipeline.routes[index(microbatch.route)]) {
      for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
        const auto has = [&](OpKind kind) {
          return ops.contains({kind, stage, static_cast<std::int32_t>(m), slice});
        };
        if (pipeline.learning.kind == LearningKind::ForwardOnly) {
          if (!has(OpKind::Forward)) return false;
          ++expected;
          continue;
        }
        const bool split = has(OpKind::BackwardInput) && has(OpKind::BackwardWeight);
        if (!has(OpKind::Forward) || has(OpKind::Backward) == split) return false;
        expected += split ? 3 : 2;
        if (has(OpKind::Recompute)) ++expected;
        if (slice == 0 && has(OpKind::Update)) ++expected;
      }
    }
  }
  return ops.size() == expected && steps == expected;
}

// What a stage runs, in order.
std::vector<Op> ops_of(const Schedule& schedule, std::int32_t stage) {
  std::vector<Op> ops;
  const std::int32_t actor = schedule.pipeline.stages[index(stage)].actor;
  for (const Step& step : schedule.order[index(actor)]) {
    if (step.op.stage == stage) ops.push_back(step.op);
  }
  return ops;
}

// Every gradient is applied by one update that comes after it, and updates go up; or there are
// none.
bool updates_fit(const Schedule& schedule) {
  if (!updates_inside(schedule)) return true;
  std::set<std::int32_t> parts;
  for (std::size_t s = 0; s < schedule.pipeline.stages.size(); ++s) {
    if (!parts.insert(schedule.pipeline.stages[s].part).second) return false;
    std::int32_t applied = -1;
    std::set<std::int32_t> open;  // microbatches of gradients that wait for an update
    for (const Op& op : ops_of(schedule, static_cast<std::int32_t>(s))) {
      if (gives_weight_gradient(op.kind)) {
        if (op.microbatch <= applied) return false;
        open.insert(op.microbatch);
      } else if (op.kind == OpKind::Update) {
        if (op.microbatch < applied) return false;
        applied = op.microbatch;
        open.erase(open.begin(), open.upper_bound(applied));
      }
    }
    if (!open.empty()) return false;
  }
  return true;
}

// Steps [first, end) of one actor start together.
std::size_t together_end(const std::vector<Step>& steps, std::size_t first) {
  std::size_t end = first + 1;
  while (end < steps.size() && steps[end].overlaps_previous) ++end;
  return end;
}

// Runs every actor as far as it gets, over and over.
class Run {
 public:
  explicit Run(const Schedule& schedule)
      : schedule_(schedule),
        dependencies_(schedule.pipeline),
        at_(schedule.order.size(), 0),
        started_here_(schedule.order.size(), false) {}

  bool gets_through() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t actor = 0; actor < at_.size(); ++actor) progress = step(actor) || progress;
    }
    for (std::size_t actor = 0; actor < at_.size(); ++actor) {
      if (at_[actor] != schedule_.order[actor].size()) return false;
    }
    return true;
  }

 private:
  // Starts or ends the actor's next step or pair; false when it can do neither.
  bool step(std::size_t actor) {
    const std::vector<Step>& steps = schedule_.order[actor];
    if (at_[actor] == steps.size()) return false;
    const std::size_t end = together_end(steps, at_[actor]);
    if (end - at_[actor] > 2) return false;
    if (!started_here_[actor]) {
      for (std::size_t i = at_[actor]; i < end; ++i) {
        const OpKind kind = steps[i].op.kind;
        if (kind == OpKind::Recompute && done_.contains(backward_of(steps[i].op))) return false;
        const bool alone = kind == OpKind::Recompute || kind == OpKind::Update;
        if (alone && end - at_[actor] > 1) return false;
        for (const Op& input : dependencies_.inputs(steps[i].op)) {
          if (!is_there(input)) return false;
        }
      }
      for (std::size_t i = at_[actor]; i < end; ++i) started_.insert(steps[i].op);
      started_here_[actor] = true;
      return true;
    }
    for (std::size_t i = at_[actor]; i < end; ++i) {
      const std::optional<Op> room = dependencies_.room_for(steps[i].op);
      if (room && !started_.contains(*room)) return false;
    }
    for (; at_[actor] < end; ++at_[actor]) {
      done_.insert(given(steps[at_[actor]].op));
      ran_.insert(steps[at_[actor]].op);
    }
    started_here_[actor] = false;
    return true;
  }

  bool is_there(const Op& input) const {
    if (input.kind != OpKind::BackwardWeight) return done_.contains(input);
    return ran_.contains(input) || ran_.contains(backward_of(input));
  }

  const Schedule& schedule_;
  const Dependencies dependencies_;
  std::set<Op> started_;
  std::set<Op> done_;  // I counts as B
  std::set<Op> ran_;
  std::vector<std::size_t> at_;
  std::vector<bool> started_here_;
};

class Faults {
 public:
  explicit Faults(const Program& program)
      : program_(program), dependencies_(program.schedule.pipeline) {}

  std::vector<std::string> find() {
    computes();
    messages();
    actions();
    waits_for_room();
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
      if (!compute.overlaps_previous) {
        start = i;
        expect(room_of_last(compute.actor, i) < static_cast<std::int32_t>(i),
               "actor {} goes on with {} before there is room for what it made", compute.actor,
               to_string(compute.op));
      }
      rooms(compute);
      if (gives_input_gradient(compute.op.kind) || compute.op.kind == OpKind::Forward) {
        given_by_[given(compute.op)] = i;
      }
      std::int32_t remote = 0;
      for (const Op& input : dependencies_.inputs(compute.op)) {
        if (dependencies_.result(input) < 0) continue;  // its own actor's, as can_run() looks
        const auto giver = given_by_.find(input);
        expect(giver != given_by_.end() && giver->second < start, "{} runs before its input {}",
               to_string(compute.op), to_string(input));
        if (giver != given_by_.end()) {
          const std::int32_t room = program_.computes[giver->second].room;
          expect(room < static_cast<std::int32_t>(start), "{} runs before {} has ended",
                 to_string(compute.op), to_string(input));
        }
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

  // The room that the last step or pair of the actor before compute `i` asks for.
  std::int32_t room_of_last(std::int32_t actor, std::size_t i) const {
    while (i > 0 && program_.computes[i - 1].actor != actor) --i;
    std::int32_t room = -1;
    for (bool more = i > 0; more; --i) {
      room = std::max(room, program_.computes[i - 1].room);
      more = program_.computes[i - 1].overlaps_previous;
    }
    return room;
  }

  void rooms(const Compute& compute) {
    std::optional<Op> room = dependencies_.room_for(compute.op);
    if (room && actor_of(room->stage) == compute.actor) room.reset();
    expect(room.has_value() == (compute.room >= 0), "{} finds room or not", to_string(compute.op));
    if (!room || compute.room < 0) return;
    expect(program_.computes[index(compute.room)].op == *room, "{} finds room with another",
           to_string(compute.op));
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

  // Behind each op that asks for room, and in front of its actor's next and of its result's send.
  void waits_for_room() {
    for (const std::vector<Action>& actions : program_.actions) {
      std::set<std::int32_t> asking;
      for (const Action& action : actions) {
        if (action.kind == ActionKind::Compute) {
          const Compute& compute = program_.computes[index(action.index)];
          expect(compute.overlaps_previous || asking.empty(), "{} starts without room",
                 to_string(compute.op));
          if (compute.room >= 0) asking.insert(action.index);
        } else if (action.kind == ActionKind::Send) {
          expect(asking.empty(), "message {} is sent without room", action.index);
        } else if (action.kind == ActionKind::AwaitRoom) {
          expect(asking.erase(action.index) == 1, "{} waits twice", action.index);
        }
      }
      expect(asking.empty(), "an actor ends without room");
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
  return is_all_the_work(schedule.pipeline, ops, steps) && updates_fit(schedule) &&
         Run(schedule).gets_through();
}

std::vector<std::string> faults(const Program& program) {
  return Faults(program).find();
}

}  // namespace penstock
