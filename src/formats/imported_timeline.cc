#include "formats/imported_timeline.h"

#include <algorithm>
#include <utility>

#include "penstock/depend.h"
#include "penstock/empty_timeline.h"
#include "penstock/index.h"

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
  Timeline timeline = empty_timeline(schedule, TimelineSource::Imported);
  timeline.spans = std::move(spans);
  add_transfers(schedule.pipeline, timeline);
  return timeline;
}

}  // namespace penstock
