#include "check_updates.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "order_place.h"
#include "penstock/index.h"

namespace penstock {
namespace {

constexpr std::int32_t kNone = -1;

class UpdateCheck {
 public:
  UpdateCheck(const Schedule& schedule, const std::string& source, ProblemList& problems)
      : schedule_(schedule),
        pipeline_(schedule.pipeline),
        source_(source),
        problems_(problems),
        applied_(pipeline_.stages.size(), kNone) {}

  void run() {
    if (!updates_inside(schedule_)) return;
    for (std::int32_t actor = 0; actor < pipeline_.actors; ++actor) {
      const std::vector<Step>& steps = schedule_.order[index(actor)];
      for (std::int32_t i = 0; index(i) < steps.size(); ++i) examine(actor, i, steps[index(i)].op);
    }
    for (std::size_t route = 0; route < pipeline_.routes.size(); ++route) ends(route);
    copies();
  }

 private:
  bool exists(const Op& op) const {
    return op.stage >= 0 && index(op.stage) < pipeline_.stages.size() && op.microbatch >= 0 &&
           index(op.microbatch) < pipeline_.microbatches.size();
  }

  template <typename... Values>
  void problem(std::int32_t actor, std::int32_t i, std::string hint,
               fmt::format_string<Values...> what, const Values&... values) {
    problems_.add([&] {
      return Problem{
          order_place(source_, schedule_, actor, i),
          fmt::format("actor {} {}", actor, fmt::vformat(what, fmt::make_format_args(values...))),
          std::move(hint)};
    });
  }

  // applied_: the last microbatch whose gradient the stage's updates so far apply.
  void examine(std::int32_t actor, std::int32_t i, const Op& op) {
    if (!exists(op)) return;
    std::int32_t& applied = applied_[index(op.stage)];
    if (op.kind == OpKind::Update) {
      if (op.slice != 0) {
        problem(actor, i, "it applies the gradients of whole microbatches",
                "updates by a slice: {}", to_string(op));
      } else if (op.microbatch < applied) {
        problem(actor, i, "each update takes the microbatches behind those of the one before",
                "runs {} after the update of microbatch {}", to_string(op), applied);
      }
      applied = std::max(applied, op.microbatch);
    } else if (gives_weight_gradient(op.kind) && op.microbatch < applied) {
      problem(actor, i, "move the update behind the gradients that it applies",
              "runs {} after {}U{}, which applies the gradients up to microbatch {}", to_string(op),
              op.stage, applied, applied);
    }
  }

  void ends(std::size_t route) {
    std::int32_t last = kNone;
    for (std::size_t m = 0; m < pipeline_.microbatches.size(); ++m) {
      if (index(pipeline_.microbatches[m].route) == route) last = static_cast<std::int32_t>(m);
    }
    for (const std::int32_t stage : pipeline_.routes[route]) {
      if (applied_[index(stage)] >= last) continue;
      const std::int32_t actor = pipeline_.stages[index(stage)].actor;
      problems_.add([&] {
        return Problem{
            place(source_, fmt::format("/order/{}", actor)),
            fmt::format("no update of stage {} applies the gradient of microbatch {}", stage, last),
            fmt::format("end with {}U{}, or leave out all updates: then every stage "
                        "updates behind its last op",
                        stage, last)};
      });
    }
  }

  void copies() {
    std::vector<std::int32_t> holder;  // of each part: the first stage
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
      const std::size_t part = index(pipeline_.stages[i].part);
      if (part >= holder.size()) holder.resize(part + 1, kNone);
      if (holder[part] == kNone) {
        holder[part] = static_cast<std::int32_t>(i);
        continue;
      }
      problems_.add([&] {
        return Problem{
            place(source_, fmt::format("/stages/{}/part", i)),
            fmt::format("stages {} and {} are copies of one part, but update at times of "
                        "their own",
                        holder[part], i),
            "leave out the updates: copies are summed and updated behind the last op"};
      });
    }
  }

  const Schedule& schedule_;
  const Pipeline& pipeline_;
  const std::string& source_;
  ProblemList& problems_;
  std::vector<std::int32_t> applied_;  // by stage
};

}  // namespace

void check_updates(const Schedule& schedule, const std::string& source, ProblemList& problems) {
  UpdateCheck(schedule, source, problems).run();
}

}  // namespace penstock
