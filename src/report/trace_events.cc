#include "report/trace_events.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "json_text.h"
#include "penstock/metrics.h"
#include "report/labels.h"
#include "report/producers.h"

namespace penstock {
namespace {

constexpr int kProcess = 1;

// Thread 0 means "idle" to some viewers.
std::int32_t thread_of(std::int32_t actor) {
  return actor + 1;
}

// Names of chrome://tracing's palette; Perfetto colours by event name and ignores them.
std::string_view color(const Span& span) {
  constexpr std::string_view kByOpKind[] = {"rail_response", "rail_animation",        "rail_load",
                                            "rail_idle",     "thread_state_runnable", "grey"};
  if (span.kind != ActionKind::Compute) return "grey";
  return kByOpKind[static_cast<std::size_t>(span.op.kind)];
}

std::string_view category(const Span& span) {
  if (span.kind == ActionKind::Compute) return name(span.op.kind);
  return is_work(span.kind) ? "update" : "collective";
}

void append_metadata(std::string& out, const Timeline& timeline) {
  append(out, R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", kProcess,
         json_string(timeline.name + " (" + std::string(name(timeline.source)) + ")"));
  for (std::int32_t actor = 0; actor < timeline.actors; ++actor) {
    append(out,
           ",\n"
           R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"actor {}"}}}})",
           kProcess, thread_of(actor), actor);
    append(
        out,
        ",\n"
        R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
        kProcess, thread_of(actor), actor);
  }
}

void append_span(std::string& out, const Timeline& timeline, const Span& span) {
  append(
      out,
      ",\n"
      R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","cat":"{}","cname":"{}","args":{{)",
      kProcess, thread_of(span.actor), microseconds(span.start),
      microseconds(span.end - span.start), label(span), category(span), color(span));
  Commas commas;
  if (span.op.stage >= 0) {
    append(out, R"({}"stage":{})", commas.next(), span.op.stage);
  }
  if (span.kind == ActionKind::Compute) {
    append(out, R"({}"microbatch":{},"slice":{})", commas.next(), span.op.microbatch,
           span.op.slice);
  }
  if (span.awaits >= 0) {
    const Transfer& input = timeline.transfers[static_cast<std::size_t>(span.awaits)];
    append(out, R"({}"awaits":"{} from actor {}","arrived_us":{})", commas.next(), label(input),
           input.from, microseconds(input.end));
  }
  out += "}}";
}

// A flow binds to the slice that encloses its time, so it leaves just before its producer ends.
void append_flow(std::string& out, const Timeline& timeline, const Span& producer,
                 const Span& consumer) {
  const Transfer& transfer = timeline.transfers[static_cast<std::size_t>(consumer.awaits)];
  const std::string_view kind = tensor_name(transfer.kind);
  append(
      out,
      ",\n"
      R"({{"ph":"s","pid":{},"tid":{},"ts":{},"id":{},"name":"{}","cat":"p2p","args":{{"bytes":{}}}}})",
      kProcess, thread_of(producer.actor), microseconds(std::max(producer.start, producer.end - 1)),
      consumer.awaits, kind, transfer.bytes);
  append(out,
         ",\n"
         R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"id":{},"name":"{}","cat":"p2p"}})",
         kProcess, thread_of(consumer.actor), microseconds(consumer.start), consumer.awaits, kind);
}

void append_counters(std::string& out, const Timeline& timeline) {
  const std::vector<std::vector<MemorySample>> samples = memory(timeline);
  for (std::size_t actor = 0; actor < samples.size(); ++actor) {
    // Without sizes there is nothing to count; where there are, what is freed counts as well.
    const bool has_bytes =
        std::any_of(samples[actor].begin(), samples[actor].end(),
                    [](const MemorySample& sample) { return sample.bytes != 0; });
    for (const MemorySample& sample : samples[actor]) {
      append(
          out,
          ",\n"
          R"({{"ph":"C","pid":{},"ts":{},"name":"actor {} in flight","args":{{"microbatches":{}}}}})",
          kProcess, microseconds(sample.at), actor, sample.in_flight);
      if (!has_bytes) continue;
      append(out,
             ",\n"
             R"({{"ph":"C","pid":{},"ts":{},"name":"actor {} memory","args":{{"bytes":{}}}}})",
             kProcess, microseconds(sample.at), actor, sample.bytes);
    }
  }
}

}  // namespace

void append_trace_events(std::string& out, const Timeline& timeline) {
  append_metadata(out, timeline);
  for (const Span& span : timeline.spans) append_span(out, timeline, span);
  const std::vector<std::int32_t> producer = producers(timeline);
  for (const Span& span : timeline.spans) {
    if (span.awaits < 0 || producer[static_cast<std::size_t>(span.awaits)] < 0) continue;
    const std::int32_t from = producer[static_cast<std::size_t>(span.awaits)];
    append_flow(out, timeline, timeline.spans[static_cast<std::size_t>(from)], span);
  }
  append_counters(out, timeline);
}

}  // namespace penstock
