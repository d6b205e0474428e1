#include "formats/imported_timeline.h"

#include <algorithm>
#include <utility>

#include "penstock/depend.h"
#include "penstock/index.h"
#include "penstock/slice_counts.h"

namespace penstock {
namespace {

// A transfer for each input that comes from another actor.
void add_transfers(const Pipeline& pipeline, Timeline& timeline) {
  const Dependencies dependencies(pipeline);
  std::vector<std::int32_t> producer(index(dependencies.results()), -1);
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    if (span.kind != ActionKind::Compute) continue;
    const std::int32_t result = dependencies.result(span.op);
    if (result >= 0) producer[index(result)] = static_cast<std::int32_t>(i);
  }
  for (Span& span : timeline.spans) {
    if (span.kind != ActionKind::Compute) continue;
    const std::int32_t giver = dependencies.giver(span.op);
    if (giver < 0) continue;
    const bool forward = span.op.kind == OpKind::Forward;
    const Op input{forward ? OpKind::Forward : OpKind::Backward, giver, span.op.microbatch,
                   span.op.slice};
    const Span& source = timeline.spans[index(producer[index(dependencies.result(input))])];
    if (source.actor == span.actor) continue;
    span.awaits = static_cast<std::int32_t>(timeline.transfers.size());
    timeline.transfers.push_back({.op = source.op,
                                  .kind = input.kind,
                                  .from = source.actor,
                                  .to = span.actor,
                                  .ready = source.end,
                                  .start = source.end,
                                  .end = std::max(source.end, span.start)});
  }
}

}  // namespace

Timeline imported_timeline(const Schedule& schedule, std::vector<Span> spans) {
  const Pipeline& pipeline = schedule.pipeline;
  Timeline timeline{.source = TimelineSource::Imported,
                    .actors = pipeline.actors,
                    .microbatches = static_cast<std::int32_t>(pipeline.microbatches.size()),
                    .slices = slice_counts(pipeline),
                    .spans = std::move(spans)};
  for (const Stage& stage : pipeline.stages) {
    timeline.stages.push_back({.actor = stage.actor, .part = stage.part});
  }
  add_transfers(pipeline, timeline);
  return timeline;
}

}  // namespace penstock
