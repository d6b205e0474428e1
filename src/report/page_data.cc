#include "report/page_data.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "json_text.h"
#include "penstock/metrics.h"
#include "report/activity.h"
#include "report/labels.h"
#include "report/numbers_json.h"
#include "report/page_columns.h"

namespace penstock {
namespace {

constexpr std::size_t kMemorySamples = 600;  // per actor: a chart is not wider

// At most kMemorySamples of an actor's samples, the highest of each run of neighbours, so that
// peaks stay.
std::vector<MemorySample> thinned(const std::vector<MemorySample>& samples) {
  const std::size_t run = (samples.size() + kMemorySamples - 1) / kMemorySamples;
  if (run <= 1) return samples;
  std::vector<MemorySample> kept;
  for (std::size_t i = 0; i < samples.size(); i += run) {
    const auto first = samples.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last =
        samples.begin() + static_cast<std::ptrdiff_t>(std::min(i + run, samples.size()));
    kept.push_back(*std::max_element(first, last, [](const MemorySample& a, const MemorySample& b) {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.in_flight < b.in_flight;
    }));
  }
  return kept;
}

void append_memory(std::string& out, const Timeline& timeline) {
  out += "\"memory\":[";
  Commas actors;
  for (const std::vector<MemorySample>& samples : memory(timeline)) {
    append(out, "{}[", actors.next());
    Commas commas;
    for (const MemorySample& sample : thinned(samples)) {
      append(out, "{}[{},{},{}]", commas.next(), sample.at, sample.bytes, sample.in_flight);
    }
    out += "]";
  }
  out += "]";
}

void append_causes(std::string& out) {
  out += "\"causes\":[";
  Commas commas;
  for (int cause = 0; cause < kIdleCauses; ++cause) {
    append(out, "{}\"{}\"", commas.next(), name(static_cast<IdleCause>(cause)));
  }
  out += "]";
}

// The report's numbers; the critical path comes as span indices, where ops are drawn.
std::string numbers(const Timeline& timeline, const Metrics& metrics) {
  return json_text(numbers_json(timeline, metrics));
}

// A step's time may begin before its first op.
Nanoseconds last_end(const Timeline& timeline) {
  Nanoseconds end = 0;
  for (const Span& span : timeline.spans) end = std::max(end, span.end);
  return end;
}

void append_timeline(std::string& out, const Timeline& timeline, bool drawn) {
  const Metrics metrics = measure(timeline);
  append(out, "{{\"name\":{},\"source\":\"{}\",\"actors\":{},\"microbatches\":{},\"end\":{},",
         json_string(timeline.name), name(timeline.source), timeline.actors, timeline.microbatches,
         last_end(timeline));
  append(out, "\"ops\":{},\"report\":{},", timeline.spans.size(), numbers(timeline, metrics));
  append_causes(out);
  out += ",";
  append_memory(out, timeline);
  out += ",";
  if (drawn) {
    append_columns(out, timeline);
  } else {
    append_activity(out, timeline, last_end(timeline));
  }
  out += "}";
}

// The measured timeline and the predicted one, in this order; or the first two; or none.
std::string comparison(const std::vector<Timeline>& timelines) {
  const auto of = [&timelines](TimelineSource source) {
    return std::find_if(timelines.begin(), timelines.end(),
                        [source](const Timeline& t) { return t.source == source; });
  };
  const auto measured = of(TimelineSource::Measured);
  const auto predicted = of(TimelineSource::Predicted);
  if (measured != timelines.end() && predicted != timelines.end()) {
    return json_text(compare_json(*measured, *predicted));
  }
  return timelines.size() == 2 ? json_text(compare_json(timelines[0], timelines[1])) : "null";
}

void append_losses(std::string& out, const std::vector<double>& losses) {
  out += "\"losses\":[";
  Commas commas;
  for (const double loss : losses) {
    out += commas.next();
    out += std::isfinite(loss) ? fmt::format("{}", loss) : "null";
  }
  out += "]";
}

void append_facts(std::string& out, const HtmlReport& report) {
  out += "\"facts\":[";
  Commas commas;
  for (const auto& [name, value] : report.facts) {
    append(out, "{}[{},{}]", commas.next(), json_string(name), json_string(value));
  }
  out += "]";
}

// '<' occurs in strings only, where the escape means the same.
std::string without_tags(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string page_data(const HtmlReport& report) {
  std::size_t ops = 0;
  for (const Timeline& timeline : report.timelines) ops += timeline.spans.size();
  std::string out;
  append(out, "{{\"title\":{},", json_string(report.title));
  append_facts(out, report);
  out += ",";
  append_losses(out, report.losses);
  append(out, ",\"trials\":{}", report.trials ? json_text(trials_json(*report.trials)) : "null");
  append(out, ",\"comparison\":{},\"timelines\":[",
         report.trials ? "null" : comparison(report.timelines));
  Commas commas;
  for (const Timeline& timeline : report.timelines) {
    out += commas.next();
    append_timeline(out, timeline, ops <= kMostDrawnOps);
  }
  out += "]}";
  return without_tags(out);
}

}  // namespace penstock
