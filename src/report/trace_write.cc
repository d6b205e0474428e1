#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json_text.h"
#include "penstock/error.h"
#include "penstock/trace.h"
#include "report/labels.h"
#include "report/trace_events.h"

namespace penstock {
namespace {

void append_stages(std::string& out, const Timeline& timeline) {
  out += "\"stages\":[";
  Commas commas;
  for (const TimelineStage& stage : timeline.stages) {
    append(out,
           "{}\n{{\"actor\":{},\"part\":{},\"route\":{},\"activation_bytes\":{},\"kept_bytes\":{},"
           "\"left_bytes\":{},\"weight_bytes\":{}}}",
           commas.next(), stage.actor, stage.part, stage.route, stage.activation_bytes,
           stage.kept_bytes, stage.left_bytes, stage.weight_bytes);
  }
  out += "]";
}

void append_slices(std::string& out, const Timeline& timeline) {
  if (timeline.slices.empty()) {
    out += "\"slices\":null";
    return;
  }
  append(out, "\"slices\":[{}]", fmt::join(timeline.slices, ","));
}

// One row per span: what, actor, start and end in nanoseconds, the transfer it awaits, whether it
// overlaps the span before.
void append_spans(std::string& out, const Timeline& timeline) {
  out += "\"spans\":[";
  Commas commas;
  for (const Span& span : timeline.spans) {
    append(out, "{}\n[\"{}\",{},{},{},", commas.next(), label(span), span.actor, span.start,
           span.end);
    out += span.awaits < 0 ? "null" : std::to_string(span.awaits);
    out += span.overlaps_previous ? ",true]" : ",false]";
  }
  out += "]";
}

// One row per transfer: the producer, what it carries, from, to, bytes, ready, start, end.
void append_transfers(std::string& out, const Timeline& timeline) {
  out += "\"transfers\":[";
  Commas commas;
  for (const Transfer& transfer : timeline.transfers) {
    append(out, "{}\n[\"{}\",\"{}\",{},{},{},{},{},{}]", commas.next(), to_string(transfer.op),
           tensor_name(transfer.kind), transfer.from, transfer.to, transfer.bytes, transfer.ready,
           transfer.start, transfer.end);
  }
  out += "]";
}

void refuse_what_no_trace_holds(const Timeline& timeline) {
  Nanoseconds end = timeline.period;
  for (const Span& span : timeline.spans) end = std::max(end, span.end);
  for (const Transfer& transfer : timeline.transfers) end = std::max(end, transfer.end);
  std::vector<Problem> problems;
  if (end > kLongestTrace) {
    problems.push_back({"trace", "the timeline is longer than the 104 days that a trace can hold",
                        "are the times in milliseconds?"});
  }
  if (timeline.microbatches > kMostTraceMicrobatches) {
    problems.push_back({"trace",
                        fmt::format("{} microbatches; a trace can hold {}", timeline.microbatches,
                                    kMostTraceMicrobatches),
                        {}});
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

}  // namespace

std::string write_trace(const Timeline& timeline) {
  refuse_what_no_trace_holds(timeline);
  std::string out;
  out.reserve(512 + 320 * timeline.spans.size() + 320 * timeline.transfers.size());
  append(out, "{{\"displayTimeUnit\":\"ns\",\n\"penstock\":{{\"trace\":1,\"name\":{},",
         json_string(timeline.name));
  append(out, "\"source\":\"{}\",\"actors\":{},\"microbatches\":{},\"tokens\":{},\"period\":{},\n",
         name(timeline.source), timeline.actors, timeline.microbatches,
         timeline.tokens > 0 ? std::to_string(timeline.tokens) : "null",
         timeline.period > 0 ? std::to_string(timeline.period) : "null");
  append_stages(out, timeline);
  out += ",\n";
  append_slices(out, timeline);
  out += ",\n";
  append_spans(out, timeline);
  out += ",\n";
  append_transfers(out, timeline);
  out += "},\n\"traceEvents\":[\n";
  append_trace_events(out, timeline);
  out += "]}\n";
  return out;
}

}  // namespace penstock
