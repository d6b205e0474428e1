#include <fmt/format.h>

#include "members.h"
#include "option.h"
#include "order.h"

namespace penstock {
namespace {

// 1F1B over all batches, and batch b's update right behind the last forward of batch b+1: so all
// of a batch's forwards read the same version on every stage, one step old (the paper's figure 2).
// The last two updates end the order.
std::vector<Step> stage_order(std::int32_t stage, std::int32_t warmup, std::int32_t batch,
                              std::int32_t steps) {
  const auto op = [=](OpKind kind) {
    return [=](std::int32_t i) { return Op{kind, stage, i, 0}; };
  };
  const auto update_of = [=](std::int32_t b) {
    return Step{op(OpKind::Update)((b + 1) * batch - 1)};
  };
  std::vector<Step> order;
  for (const Step& step :
       warm_up_and_alternate(steps * batch, warmup, op(OpKind::Forward), op(OpKind::Backward))) {
    order.push_back(step);
    const std::int32_t last = step.op.microbatch + 1;
    const bool ends_a_batch = step.op.kind == OpKind::Forward && last % batch == 0;
    if (ends_a_batch && last > batch) order.push_back(update_of(last / batch - 2));
  }
  order.push_back(update_of(steps - 1));
  return order;
}

}  // namespace

Schedule pipedream_2bw(const GenerateOptions& options) {
  refuse_chunks("pipedream_2bw", options);
  std::vector<Problem> problems;
  const std::int32_t steps = number_option(options, "steps", 3, problems);
  if (options.microbatches < options.actors) {
    problems.push_back(
        {"microbatches",
         fmt::format("pipedream_2bw with {} microbatches on {} actors: actor 0 has not run the "
                     "backwards of a batch when the forwards of the next are over, so two versions "
                     "of the weights would not do",
                     options.microbatches, options.actors),
         fmt::format("at least {} microbatches per update", options.actors)});
  }
  throw_if_any(std::move(problems));
  Schedule schedule{.name = "pipedream_2bw",
                    .pipeline = loop_pipeline(options.actors, 1, steps * options.microbatches),
                    .order = {}};
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    schedule.order.push_back(
        stage_order(actor, options.actors - 1 - actor, options.microbatches, steps));
  }
  return schedule;
}

}  // namespace penstock
