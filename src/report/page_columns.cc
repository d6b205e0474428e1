#include "report/page_columns.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "json_text.h"
#include "penstock/metrics.h"
#include "report/labels.h"
#include "report/producers.h"

namespace penstock {
namespace {

template <typename Row, typename Value>
void append_column(std::string& out, Commas& commas, std::string_view name,
                   const std::vector<Row>& rows, Value value) {
  append(out, "{}\"{}\":[", commas.next(), name);
  Commas values;
  for (const Row& row : rows) append(out, "{}{}", values.next(), value(row));
  out += "]";
}

// 1 and 2 for the two ops of a pair that overlap in time, else 0.
std::vector<int> pair_places(const std::vector<Span>& spans) {
  std::vector<int> places(spans.size(), 0);
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (!spans[i].overlaps_previous || spans[i].start >= spans[i - 1].end) continue;
    places[i - 1] = 1;
    places[i] = 2;
  }
  return places;
}

void append_spans(std::string& out, const std::vector<Span>& spans) {
  out += "\"spans\":{";
  Commas c;
  append_column(out, c, "kind", spans, kind_index);
  append_column(out, c, "actor", spans, [](const Span& s) { return s.actor; });
  append_column(out, c, "stage", spans, [](const Span& s) { return s.op.stage; });
  append_column(out, c, "microbatch", spans, [](const Span& s) { return s.op.microbatch; });
  append_column(out, c, "slice", spans, [](const Span& s) { return s.op.slice; });
  append_column(out, c, "start", spans, [](const Span& s) { return s.start; });
  append_column(out, c, "end", spans, [](const Span& s) { return s.end; });
  append_column(out, c, "awaits", spans, [](const Span& s) { return s.awaits; });
  append_column(out, c, "pair", pair_places(spans), [](int place) { return place; });
  out += "}";
}

void append_transfers(std::string& out, const Timeline& timeline) {
  const std::vector<Transfer>& rows = timeline.transfers;
  out += "\"transfers\":{";
  Commas c;
  append_column(out, c, "kind", rows,
                [](const Transfer& t) { return static_cast<int>(t.op.kind); });
  append_column(out, c, "gradient", rows,
                [](const Transfer& t) { return t.kind == OpKind::Forward ? 0 : 1; });
  append_column(out, c, "stage", rows, [](const Transfer& t) { return t.op.stage; });
  append_column(out, c, "microbatch", rows, [](const Transfer& t) { return t.op.microbatch; });
  append_column(out, c, "slice", rows, [](const Transfer& t) { return t.op.slice; });
  append_column(out, c, "from", rows, [](const Transfer& t) { return t.from; });
  append_column(out, c, "end", rows, [](const Transfer& t) { return t.end; });
  append_column(out, c, "producer", producers(timeline), [](std::int32_t span) { return span; });
  out += "}";
}

void append_idle(std::string& out, const std::vector<Idle>& rows) {
  out += "\"idle\":{";
  Commas c;
  append_column(out, c, "actor", rows, [](const Idle& i) { return i.actor; });
  append_column(out, c, "cause", rows, [](const Idle& i) { return static_cast<int>(i.cause); });
  append_column(out, c, "start", rows, [](const Idle& i) { return i.start; });
  append_column(out, c, "end", rows, [](const Idle& i) { return i.end; });
  append_column(out, c, "span", rows, [](const Idle& i) { return i.span; });
  append_column(out, c, "transfer", rows, [](const Idle& i) { return i.transfer; });
  out += "}";
}

// By stage; none where all are on one route.
void append_routes(std::string& out, const std::vector<TimelineStage>& stages) {
  out += "\"routes\":[";
  Commas commas;
  if (std::any_of(stages.begin(), stages.end(), [](const auto& s) { return s.route != 0; })) {
    for (const TimelineStage& stage : stages) append(out, "{}{}", commas.next(), stage.route);
  }
  out += "]";
}

}  // namespace

void append_columns(std::string& out, const Timeline& timeline) {
  append_routes(out, timeline.stages);
  out += ",";
  append_spans(out, timeline.spans);
  out += ",";
  append_transfers(out, timeline);
  out += ",";
  append_idle(out, idle_stretches(timeline));
  out += ",\"critical\":[";
  Commas commas;
  for (const CriticalLink& link : critical_path(timeline)) {
    if (link.span >= 0) append(out, "{}{}", commas.next(), link.span);
  }
  out += "]";
}

}  // namespace penstock
