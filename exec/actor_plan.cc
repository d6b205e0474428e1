#include "actor_plan.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "penstock/depend.h"
#include "penstock/index.h"
#include "units.h"

namespace penstock {
namespace {

std::int64_t message_floats(const Program& program, const Message& message,
                            const BoundaryFloats& boundary_floats) {
  return boundary_floats(program.computes[index(message.producer)].op);
}

// Hand-over buffers of one actor. Its order is fixed, so who uses which when is, too.
class LocalPool {
 public:
  explicit LocalPool(std::vector<std::int64_t>& floats) : floats_(floats) {}
  std::int32_t take(std::int64_t floats) {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (floats_[index(free_[i])] != floats) continue;
      const std::int32_t buffer = free_[i];
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return buffer;
    }
    floats_.push_back(floats);
    return static_cast<std::int32_t>(floats_.size()) - 1;
  }
  void give_back(std::int32_t buffer) { free_.push_back(buffer); }

 private:
  std::vector<std::int64_t>& floats_;
  std::vector<std::int32_t> free_;
};

// Works through one actor's list in order, keeping what lies where.
class Planner {
 public:
  Planner(const Program& program, std::int32_t actor, const BoundaryFloats& boundary_floats)
      : program_(program),
        actor_(actor),
        boundary_floats_(boundary_floats),
        dependencies_(program.schedule.pipeline),
        units_(program.schedule.pipeline),
        pool_(plan_.local_floats) {
    const std::size_t cells = program.schedule.pipeline.stages.size() * units_.count();
    activation_.resize(cells);
    gradient_.resize(cells);
    last_reader_.resize(cells, OpKind::Forward);
    sent_as_.resize(program.computes.size(), -1);
    for (std::size_t i = 0; i < program.messages.size(); ++i) {
      sent_as_[index(program.messages[i].producer)] = static_cast<std::int32_t>(i);
    }
    for (const Compute& compute : program.computes) {
      if (compute.actor != actor) continue;
      if (compute.op.kind > OpKind::BackwardWeight) continue;
      OpKind& last = last_reader_[cell(compute.op.stage, compute.op)];
      last = std::max(last, compute.op.kind);  // F < B < I < W: a later kind reads last
    }
  }

  ActorPlan plan() {
    for (const Action& action : program_.actions[index(actor_)]) {
      Task task{.kind = action.kind,
                .index = action.index,
                .op = {},
                .input = {},
                .output = {},
                .released = {}};
      if (action.kind == ActionKind::Compute) plan_compute(task);
      waited_ =
          action.kind == ActionKind::AwaitRoom || (waited_ && action.kind != ActionKind::Compute);
      if (action.kind == ActionKind::Send) plan_send(task);
      plan_.tasks.push_back(task);
    }
    plan_.send_buffers = unfinished_sends() + 1;  // and one that is being written
    return std::move(plan_);
  }

 private:
  // The op's microbatch and slice, on some stage.
  std::size_t cell(std::int32_t stage, const Op& op) const {
    return index(stage) * units_.count() + units_.of(op);
  }

  void plan_compute(Task& task) {
    const Compute& compute = program_.computes[index(task.index)];
    task.op = compute.op;
    task.overlaps_previous = compute.overlaps_previous;
    if (!task.overlaps_previous) pair_begin_ = task.index;
    last_compute_ = task.index;
    last_compute_task_ = static_cast<std::int32_t>(plan_.tasks.size());
    const std::size_t here = cell(task.op.stage, task.op);
    if (task.op.kind == OpKind::Forward) {
      task.input = input(compute, activation_[here]);
      activation_[here] = task.input;
      task.output = output(task, activation_);
    } else if (dependencies_.giver(task.op) >= 0) {
      task.input = input(compute, gradient_[here]);
      task.released[0] = task.input;  // W works from what I kept
    }
    if (gives_input_gradient(task.op.kind)) task.output = output(task, gradient_);
    if (task.op.kind == last_reader_[here]) task.released[1] = activation_[here];
    for (const Operand& operand : task.released) {
      if (operand.place == Place::Local) pool_.give_back(operand.index);
    }
  }

  void plan_send(Task& task) {
    const Message& message = program_.messages[index(task.index)];
    const bool just_made = pair_begin_ <= message.producer && message.producer <= last_compute_;
    if (just_made && !waited_) task.compute_task = last_compute_task_;
    plan_.send_floats =
        std::max(plan_.send_floats, message_floats(program_, message, boundary_floats_));
  }

  static Operand input(const Compute& compute, const Operand& handed_over) {
    if (compute.awaits >= 0) return {Place::Message, compute.awaits};
    return handed_over;
  }

  Operand output(const Task& task, std::vector<Operand>& handed_over) {
    const std::int32_t reader = dependencies_.receiver(task.op);
    if (reader < 0) return {};
    const std::int32_t message = sent_as_[index(task.index)];
    if (message >= 0) return {Place::Message, message};
    const Operand local{Place::Local, pool_.take(boundary_floats_(task.op))};
    handed_over[cell(reader, task.op)] = local;
    return local;
  }

  // Peak of this actor's messages between their send and their consumer in the linear order.
  std::int32_t unfinished_sends() const {
    std::vector<std::int32_t> change(program_.computes.size() + 1, 0);
    for (const Message& message : program_.messages) {
      if (message.from != actor_) continue;
      ++change[index(message.producer)];
      --change[index(message.consumer)];
    }
    std::int32_t open = 0;
    std::int32_t peak = 0;
    for (const std::int32_t c : change) peak = std::max(peak, open += c);
    return peak;
  }

  const Program& program_;
  std::int32_t actor_;
  const BoundaryFloats& boundary_floats_;
  Dependencies dependencies_;
  Units units_;
  ActorPlan plan_;
  LocalPool pool_;
  std::vector<Operand> activation_;  // by (stage, unit): the input of its F
  std::vector<Operand> gradient_;    // of its B or I
  std::vector<OpKind> last_reader_;  // of its activation
  std::vector<std::int32_t> sent_as_;
  std::int32_t pair_begin_ = 0;     // the compute that the latest pair began with
  std::int32_t last_compute_ = -1;  // the latest; of a pair the second
  std::int32_t last_compute_task_ = -1;
  bool waited_ = false;  // since then, for room
};

bool is_norm(ActionKind kind) {
  return kind == ActionKind::GlobalNorm || kind == ActionKind::PartialNorm;
}

bool updates_every_stage(const Program& program) {
  std::size_t updates = 0;
  for (const std::vector<Action>& actions : program.actions) {
    updates +=
        static_cast<std::size_t>(std::ranges::count(actions, ActionKind::Update, &Action::kind));
  }
  return updates == program.schedule.pipeline.stages.size();
}

// Of a message that is sent before its sender's verdict. Rolling back starts with receiving those.
bool receives_behind_verdict(const Program& program) {
  const std::int32_t unverified = speculative_computes(program);
  return std::ranges::any_of(program.actions, [&](const std::vector<Action>& actions) {
    const auto verdict = std::ranges::find(actions, ActionKind::Verdict, &Action::kind);
    return std::any_of(verdict, actions.end(), [&](const Action& a) {
      return a.kind == ActionKind::Receive &&
             program.messages[index(a.index)].producer < unverified;
    });
  });
}

}  // namespace

std::vector<MessagePlan> plan_messages(const Program& program,
                                       const BoundaryFloats& boundary_floats) {
  std::map<std::tuple<std::int32_t, std::int32_t, OpKind>, std::int32_t> count;
  std::map<std::tuple<std::int32_t, std::int32_t, OpKind>, std::int32_t> speculative;
  const std::int32_t unverified = speculative_computes(program);
  for (const Message& m : program.messages) {
    ++count[{m.from, m.to, m.kind}];
    speculative[{m.from, m.to, m.kind}] += m.producer < unverified;
  }
  std::vector<MessagePlan> plans;
  plans.reserve(program.messages.size());
  for (const Message& m : program.messages) {
    plans.push_back({.floats = message_floats(program, m, boundary_floats),
                     .per_step = count.at({m.from, m.to, m.kind}),
                     .speculative = speculative.at({m.from, m.to, m.kind})});
  }
  return plans;
}

ActorPlan plan_actor(const Program& program, std::int32_t actor,
                     const BoundaryFloats& boundary_floats) {
  return Planner(program, actor, boundary_floats).plan();
}

std::vector<Channel> plan_channels(const Program& program, std::span<const ActorPlan> plans,
                                   std::span<const MessagePlan> messages) {
  std::map<std::tuple<std::int32_t, std::int32_t, OpKind>, Channel> channels;
  std::map<std::tuple<std::int32_t, std::int32_t, OpKind>, std::int32_t> pending;
  const auto channel_of = [&](std::int32_t message) {
    const Message& m = program.messages[index(message)];
    return std::tuple(m.from, m.to, m.kind);
  };
  for (const ActorPlan& plan : plans) {
    for (const Task& task : plan.tasks) {
      if (task.kind == ActionKind::Receive) {
        const auto key = channel_of(task.index);
        Channel& channel = channels[key];
        std::tie(channel.from, channel.to, channel.kind) = key;
        const std::int64_t floats = messages[index(task.index)].floats;
        channel.bytes = std::max(channel.bytes, floats * static_cast<std::int64_t>(sizeof(float)));
        channel.pending = std::max(channel.pending, ++pending[key]);
      }
      for (const Operand& operand : task.released) {
        if (operand.place == Place::Message) --pending[channel_of(operand.index)];
      }
    }
  }
  std::vector<Channel> list;
  list.reserve(channels.size());
  for (const auto& [key, channel] : channels) list.push_back(channel);
  return list;
}

ActionNames action_names(const Program& program) {
  ActionNames names;
  names.reserve(program.actions.size());
  for (const std::vector<Action>& actions : program.actions) {
    std::vector<std::string>& list = names.emplace_back();
    list.reserve(actions.size());
    for (const Action& action : actions) list.push_back(to_string(program, action));
  }
  return names;
}

bool learns(const Program& program) {
  return std::ranges::any_of(program.computes,
                             [](const Compute& c) { return c.op.kind != OpKind::Forward; });
}

bool exchanges_norms(const Program& program) {
  return std::ranges::any_of(program.actions, [](const std::vector<Action>& actions) {
    return std::ranges::any_of(actions, is_norm, &Action::kind);
  });
}

std::vector<Problem> executable_problems(const Program& program) {
  std::vector<Problem> problems;
  constexpr const char* kHint = "`penstock simulate` can predict it";
  const Learning& learning = program.schedule.pipeline.learning;
  if (learning.kind == LearningKind::Local && is_sliced(program.schedule.pipeline)) {
    problems.push_back({program.schedule.name,
                        "token slices are not executable where stages learn in windows", kHint});
  }
  if (!learns(program) || updates_inside(program.schedule)) return problems;
  if (learning.kind == LearningKind::Local) {
    if (!updates_every_stage(program)) {
      problems.push_back({program.schedule.name, "the program has no step end: every stage updates",
                          "lower with step_end"});
    }
    return problems;
  }
  const auto has_norm = [](const std::vector<Action>& actions) {
    return std::ranges::count_if(actions, is_norm, &Action::kind) == 1;
  };
  if (!std::all_of(program.actions.begin(), program.actions.end(), has_norm)) {
    problems.push_back({program.schedule.name,
                        "the program has no step end: every actor needs one exchange of norms",
                        "lower with step_end"});
  }
  if (receives_behind_verdict(program)) {
    problems.push_back({program.schedule.name,
                        "a message that may be sent again is received behind the verdict",
                        "lower along the linear order"});
  }
  return problems;
}

}  // namespace penstock
