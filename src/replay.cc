#include "penstock/replay.h"

#include <cassert>

#include "penstock/index.h"

namespace penstock {
namespace {

std::size_t slices_of(const Timeline& timeline, std::size_t microbatch) {
  return timeline.slices.empty() ? 1 : index(timeline.slices[microbatch]);
}

// Room for every (microbatch, slice), as zeros.
std::vector<std::vector<Nanoseconds>> empty_table(const Timeline& timeline) {
  std::vector<std::vector<Nanoseconds>> table(index(timeline.microbatches));
  for (std::size_t m = 0; m < table.size(); ++m) table[m].resize(slices_of(timeline, m));
  return table;
}

bool is_update(const Span& span) {
  const bool inside = span.kind == ActionKind::Compute && span.op.kind == OpKind::Update;
  return inside || span.kind == ActionKind::Update;
}

// Update has one cost per stage: of several in a step the mean.
void take_updates(const Timeline& measured, CostTable& costs) {
  std::vector<Nanoseconds> total(costs.stages.size(), 0);
  std::vector<Nanoseconds> count(costs.stages.size(), 0);
  for (const Span& span : measured.spans) {
    if (!is_update(span)) continue;
    const auto stage = index(span.op.stage);
    total[stage] += span.end - span.start;
    ++count[stage];
  }
  for (std::size_t stage = 0; stage < total.size(); ++stage) {
    if (count[stage] > 0) costs.stages[stage].update = total[stage] / count[stage];
  }
}

}  // namespace

CostTable replay_costs(const Timeline& measured, const CostTable& profile) {
  assert(profile.stages.size() >= measured.stages.size() && "one entry per stage");
  CostTable costs = profile;
  for (StageCosts& stage : costs.stages) stage.op = {};
  take_updates(measured, costs);
  for (const Span& span : measured.spans) {
    const Nanoseconds duration = span.end - span.start;
    if (span.kind != ActionKind::Compute || is_update(span)) continue;
    auto& known = costs.stages[index(span.op.stage)].op[index(span.op.kind)];
    if (!known) known = Duration{.varied = empty_table(measured), .microbatch_varies = true};
    known->varied[index(span.op.microbatch)][index(span.op.slice)] = duration;
  }
  return costs;
}

}  // namespace penstock
