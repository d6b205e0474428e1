#include "check_order.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "order_place.h"
#include "penstock/index.h"

namespace penstock {
namespace {

constexpr std::int32_t kNowhere = -1;
constexpr std::int32_t kOtherActor = -2;  // run, but only where its stage does not sit

class OrderCheck {
 public:
  OrderCheck(const Schedule& schedule, const Dependencies& dependencies, const std::string& source,
             ProblemList& problems)
      : schedule_(schedule),
        pipeline_(schedule.pipeline),
        dependencies_(dependencies),
        source_(source),
        problems_(problems),
        route_of_(route_of_stages(pipeline_)),
        microbatches_on_(pipeline_.routes.size()),
        place_(kOpKinds * index(dependencies.units()), kNowhere) {
    for (std::size_t m = 0; m < pipeline_.microbatches.size(); ++m) {
      microbatches_on_[index(pipeline_.microbatches[m].route)].push_back(
          static_cast<std::int32_t>(m));
    }
  }

  void run() {
    for (std::int32_t actor = 0; actor < pipeline_.actors; ++actor) record(actor);
    for (std::int32_t actor = 0; actor < pipeline_.actors; ++actor) examine(actor);
    for (std::size_t stage = 0; stage < pipeline_.stages.size(); ++stage) {
      missing(static_cast<std::int32_t>(stage));
    }
  }

 private:
  const std::vector<Step>& order(std::int32_t actor) const { return schedule_.order[index(actor)]; }

  bool known(const Op& op) const {
    return index(static_cast<std::int32_t>(op.kind)) < kOpKinds && op.stage >= 0 &&
           index(op.stage) < pipeline_.stages.size() && op.microbatch >= 0 &&
           index(op.microbatch) < pipeline_.microbatches.size() && op.slice >= 0 &&
           op.slice < pipeline_.microbatches[index(op.microbatch)].slices() &&
           route_of_[index(op.stage)] == pipeline_.microbatches[index(op.microbatch)].route;
  }

  std::int32_t actor_of(const Op& op) const { return pipeline_.stages[index(op.stage)].actor; }

  // Where an op stands first in its actor's order.
  std::int32_t& place_of(const Op& op) {
    return place_[kOpKinds * index(dependencies_.unit(op)) + index(op.kind)];
  }
  std::int32_t place_of(Op op, OpKind kind) {
    op.kind = kind;
    return place_of(op);
  }
  // Where an input comes from: B stands for B or I, W for B or W.
  std::int32_t place_of_input(const Op& input) {
    const std::int32_t at = place_of(input);
    if (at >= 0) return at;
    if (input.kind == OpKind::Backward) return place_of(input, OpKind::BackwardInput);
    return input.kind == OpKind::BackwardWeight ? place_of(input, OpKind::Backward) : at;
  }

  void record(std::int32_t actor) {
    std::int32_t position = 0;
    for (const Step& step : order(actor)) {
      if (known(step.op)) {
        std::int32_t& place = place_of(step.op);
        if (actor_of(step.op) != actor) {
          if (place == kNowhere) place = kOtherActor;
        } else if (place < 0) {
          place = position;
        }
      }
      ++position;
    }
  }

  void examine(std::int32_t actor) {
    const std::vector<Step>& steps = order(actor);
    std::int32_t pair = 0;  // where the step's pair begins: itself, when it is single
    for (std::int32_t i = 0; index(i) < steps.size(); ++i) {
      const Step& step = steps[index(i)];
      if (!step.overlaps_previous) pair = i;
      if (step.overlaps_previous && i - pair != 1) not_a_pair(actor, i);
      if (is_lonely(step.op.kind) && in_pair(steps, i)) overlaps(actor, i);
      if (!known(step.op)) {
        unknown(actor, i);
      } else if (actor_of(step.op) != actor) {
        elsewhere(actor, i);
      } else if (place_of(step.op) != i) {
        twice(actor, i);
      } else {
        if (step.op.kind == OpKind::Backward) beside_its_halves(actor, i);
        if (step.op.kind != OpKind::Forward && learns_nothing()) backward_of_inference(actor, i);
        if (step.op.kind == OpKind::Recompute) behind_its_backward(actor, i);
        inputs(actor, i, pair);
        room(actor, i);
      }
    }
  }

  struct Saying {
    std::string what;  // after "actor 2 "
    std::string hint;
  };

  // `say` gives a Saying. It is called only while there is room: places and hints take time.
  template <typename Say>
  void problem(std::int32_t actor, std::int32_t position, Say say) {
    problems_.add([&] {
      Saying saying = say();
      return Problem{order_place(source_, schedule_, actor, position),
                     fmt::format("actor {} {}", actor, saying.what), std::move(saying.hint)};
    });
  }

  void not_a_pair(std::int32_t actor, std::int32_t i) {
    const Op& op = order(actor)[index(i)].op;
    problem(actor, i, [&]() -> Saying {
      if (i > 0) return {"overlaps more than two ops", "a pair is two ops"};
      return {fmt::format("overlaps {} with the op before, but it is the first", to_string(op)),
              "put the op that it overlaps before it"};
    });
  }

  // What has the lane for itself.
  static bool is_lonely(OpKind kind) { return kind == OpKind::Recompute || kind == OpKind::Update; }

  static bool in_pair(const std::vector<Step>& steps, std::int32_t i) {
    const bool joined = index(i) + 1 < steps.size() && steps[index(i) + 1].overlaps_previous;
    return joined || steps[index(i)].overlaps_previous;
  }

  void overlaps(std::int32_t actor, std::int32_t i) {
    problem(actor, i, [&]() -> Saying {
      return {fmt::format("overlaps {} with another op", to_string(order(actor)[index(i)].op)),
              "only F, B, I and W overlap"};
    });
  }

  void unknown(std::int32_t actor, std::int32_t i) {
    problem(actor, i, [&] { return why_unknown(order(actor)[index(i)].op); });
  }

  Saying why_unknown(const Op& op) const {
    if (index(static_cast<std::int32_t>(op.kind)) >= kOpKinds) {
      return {"runs an op of an unknown kind", "kinds are F, B, I, W, R and U"};
    }
    const std::string text = to_string(op);
    const auto range = [](const char* what, std::size_t count) {
      return fmt::format("{} are 0 to {}", what, count - 1);
    };
    if (op.stage < 0 || index(op.stage) >= pipeline_.stages.size()) {
      return {fmt::format("runs {}, but there is no stage {}", text, op.stage),
              range("stages", pipeline_.stages.size())};
    }
    if (op.microbatch < 0 || index(op.microbatch) >= pipeline_.microbatches.size()) {
      return {fmt::format("runs {}, but there is no microbatch {}", text, op.microbatch),
              range("microbatches", pipeline_.microbatches.size())};
    }
    const Microbatch& microbatch = pipeline_.microbatches[index(op.microbatch)];
    const std::int32_t route = route_of_[index(op.stage)];
    if (route != microbatch.route) {
      return {fmt::format("runs {}, but microbatch {} takes route {}, which does not pass stage {}",
                          text, op.microbatch, microbatch.route, op.stage),
              fmt::format("stage {} is on route {}", op.stage, route)};
    }
    return {
        fmt::format("runs {}, but microbatch {} has no slice {}", text, op.microbatch, op.slice),
        range("slices", index(microbatch.slices()))};
  }

  void elsewhere(std::int32_t actor, std::int32_t i) {
    const Op& op = order(actor)[index(i)].op;
    problem(actor, i, [&]() -> Saying {
      return {fmt::format("runs {}, but stage {} sits on actor {}", to_string(op), op.stage,
                          actor_of(op)),
              fmt::format("move it to actor {}", actor_of(op))};
    });
  }

  void twice(std::int32_t actor, std::int32_t i) {
    const Op& op = order(actor)[index(i)].op;
    problem(actor, i, [&]() -> Saying {
      return {fmt::format("runs {} twice", to_string(op)),
              fmt::format("entry {} is the first", order_entry(order(actor), place_of(op)))};
    });
  }

  void beside_its_halves(std::int32_t actor, std::int32_t i) {
    const Op& op = order(actor)[index(i)].op;
    for (const OpKind half : {OpKind::BackwardInput, OpKind::BackwardWeight}) {
      if (place_of(op, half) == kNowhere) continue;
      problem(actor, i, [&]() -> Saying {
        return {fmt::format("runs {} and also its {}", to_string(op), letter(half)),
                "B is I and W in one: keep either it or the two"};
      });
    }
  }

  // The backward needs what is computed again: R stands in front of B or I.
  void behind_its_backward(std::int32_t actor, std::int32_t i) {
    const Op& op = order(actor)[index(i)].op;
    for (const OpKind kind : {OpKind::Backward, OpKind::BackwardInput}) {
      const std::int32_t at = place_of(op, kind);
      if (at < 0 || at > i) continue;
      problem(actor, i, [&]() -> Saying {
        const std::string backward = to_string(order(actor)[index(at)].op);
        return {fmt::format("runs {} behind {}, which needs what it computes again", to_string(op),
                            backward),
                fmt::format("move it in front of {}", backward)};
      });
    }
  }

  bool learns_nothing() const { return pipeline_.learning.kind == LearningKind::ForwardOnly; }

  void backward_of_inference(std::int32_t actor, std::int32_t i) {
    const Op& op = order(actor)[index(i)].op;
    problem(actor, i, [&]() -> Saying {
      return {fmt::format("runs {}, but the pipeline learns nothing: {}", to_string(op),
                          name(pipeline_.learning.kind)),
              "leave it out, or give another kind of learning"};
    });
  }

  // Inputs from other actors are a matter of progress, not of this actor's order.
  void inputs(std::int32_t actor, std::int32_t i, std::int32_t pair) {
    dependencies_.visit_inputs(order(actor)[index(i)].op, [&](const Op& input) {
      if (actor_of(input) != actor) return;
      const std::int32_t at = place_of_input(input);
      // Before it, or missing: that is reported once, for the op itself.
      if (at >= pair) too_early(actor, i, input, at);
    });
  }

  // Where both stages sit on one actor, nobody else empties the queue between them.
  void room(std::int32_t actor, std::int32_t i) {
    const Op& op = order(actor)[index(i)].op;
    const std::optional<Op> first = dependencies_.room_for(op);
    if (!first || actor_of(*first) != actor) return;
    const std::int32_t at = place_of(*first);
    if (at <= i || together(actor, i, at)) return;
    problem(actor, i, [&]() -> Saying {
      return {fmt::format("runs {} before {}, but only {} fit into the queue between stages {} "
                          "and {}",
                          to_string(op), to_string(*first), pipeline_.learning.queue_capacity,
                          op.stage, first->stage),
              fmt::format("swap entries {} and {}, or ask for a larger queue_capacity",
                          order_entry(order(actor), i), order_entry(order(actor), at))};
    });
  }

  void too_early(std::int32_t actor, std::int32_t i, const Op& input, std::int32_t at) {
    const Op& op = order(actor)[index(i)].op;
    problem(actor, i, [&]() -> Saying {
      const std::string needed = to_string(order(actor)[index(at)].op);
      if (together(actor, i, at)) {
        return {fmt::format("overlaps {} with {}, which it needs", to_string(op), needed),
                "an op starts after those that it needs have ended"};
      }
      return {fmt::format("runs {} before {}", to_string(op), needed),
              fmt::format("{}; swap entries {} and {}", why_after(op, input),
                          order_entry(order(actor), i), order_entry(order(actor), at))};
    });
  }

  bool together(std::int32_t actor, std::int32_t a, std::int32_t b) const {
    const auto [first, last] = std::minmax(a, b);
    for (std::int32_t i = first + 1; i <= last; ++i) {
      if (!order(actor)[index(i)].overlaps_previous) return false;
    }
    return true;
  }

  std::string why_after(const Op& op, const Op& input) const {
    if (op.stage != input.stage) {
      return fmt::format("stage {} needs the {} of stage {}", op.stage, tensor_name(input.kind),
                         input.stage);
    }
    if (op.kind == OpKind::BackwardWeight) return "a weight gradient needs its input gradient";
    if (op.kind == OpKind::Update) return "an update needs the gradients that it applies";
    if (op.kind == OpKind::Recompute) return "what is computed again was computed before";
    if (op.slice == input.slice) return "a backward needs its forward on the same stage";
    return op.kind == OpKind::Forward ? "slices go forward from the first to the last"
                                      : "slices go backward from the last to the first";
  }

  void missing(std::int32_t stage) {
    for (const std::int32_t m : microbatches_on_[index(route_of_[index(stage)])]) {
      for (std::int32_t slice = 0; slice < pipeline_.microbatches[index(m)].slices(); ++slice) {
        missing_of({OpKind::Forward, stage, m, slice});
      }
    }
  }

  // An op that runs on a wrong actor is reported there and not missing here.
  void missing_of(const Op& forward) {
    const auto runs = [&](OpKind kind) { return place_of(forward, kind) != kNowhere; };
    if (!runs(OpKind::Forward)) nobody_runs(forward, OpKind::Forward);
    if (learns_nothing()) return;
    const bool input = runs(OpKind::BackwardInput);
    const bool weight = runs(OpKind::BackwardWeight);
    if (runs(OpKind::Backward) || (input && weight)) return;
    if (input) {
      nobody_runs(forward, OpKind::BackwardWeight);
    } else if (weight) {
      nobody_runs(forward, OpKind::BackwardInput);
    } else {
      nobody_runs(forward, OpKind::Backward);
    }
  }

  void nobody_runs(Op op, OpKind kind) {
    op.kind = kind;
    problems_.add([&] {
      return Problem{
          place(source_, fmt::format("/order/{}", actor_of(op))),
          fmt::format("no actor runs {}", to_string(op)),
          fmt::format("stage {} sits on actor {}: add it there", op.stage, actor_of(op))};
    });
  }

  const Schedule& schedule_;
  const Pipeline& pipeline_;
  const Dependencies& dependencies_;
  const std::string& source_;
  ProblemList& problems_;
  std::vector<std::int32_t> route_of_;                      // by stage
  std::vector<std::vector<std::int32_t>> microbatches_on_;  // by route
  std::vector<std::int32_t> place_;  // by unit and kind: a position, kNowhere or kOtherActor
};

}  // namespace

void check_order(const Schedule& schedule, const Dependencies& dependencies,
                 const std::string& source, ProblemList& problems) {
  OrderCheck(schedule, dependencies, source, problems).run();
}

}  // namespace penstock
