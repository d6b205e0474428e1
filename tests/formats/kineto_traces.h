// File: kineto_traces.h. Traces in the shape that torch's profiler writes.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "penstock/kineto.h"
#include "penstock/timeline.h"

namespace penstock {

// One event; times in microseconds.
struct TraceEvent {
  std::string name;
  double start = 0;
  double length = 0;
  std::string category = "user_annotation";
  int thread = 1147039;
};

struct TraceFile {
  std::vector<TraceEvent> events;
  int rank = -1;  // -1: without distributedInfo
  std::int64_t base = 1743521598000000000;
  std::string devices = {};  // of deviceProperties
};

inline std::string trace_json(const TraceFile& file) {
  std::string text = "{\n  \"schemaVersion\": 1,\n";
  text += fmt::format("  \"deviceProperties\": [{}],\n", file.devices);
  if (file.rank >= 0) {
    text += fmt::format(
        "  \"distributedInfo\": {{\"backend\": \"gloo\", \"rank\": {}, \"world_size\": 4}},\n",
        file.rank);
  }
  text += fmt::format(
      "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {},\n  \"traceEvents\": [\n",
      file.base);
  for (const TraceEvent& event : file.events) {
    text += fmt::format(
        "  {{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 1147039, \"tid\": {},\n"
        "    \"ts\": {:.3f}, \"dur\": {:.3f}, \"args\": {{\"External id\": 1, \"Ev Idx\": 2}}}},\n",
        event.category, event.name, event.thread, event.start, event.length);
  }
  // Others that every trace has.
  text +=
      "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::linear\", \"pid\": 1147039,\n"
      "    \"tid\": 1147039, \"ts\": 1.5, \"dur\": 2,\n"
      "    \"args\": {\"Input Dims\": [[2, 3], []], \"Concrete Inputs\": [\"\", \"\"]}},\n"
      "  {\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 1147039, \"tid\": 0,\n"
      "    \"args\": {\"name\": \"python\"}},\n"
      "  {\"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window End\", \"pid\": \"\", \"tid\": "
      "\"\",\n"
      "    \"ts\": 9}\n  ],\n  \"traceName\": \"rank.json\"\n}\n";
  return text;
}

// What torch's profiler would have written of a timeline's computes, a file per actor.
inline std::vector<TraceFile> traces_of(const Timeline& timeline) {
  std::vector<TraceFile> files(static_cast<std::size_t>(timeline.actors));
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    TraceFile& file = files[static_cast<std::size_t>(span.actor)];
    const std::string op = to_string(span.op);
    if (span.overlaps_previous) {
      std::string& name = file.events.back().name;
      name = fmt::format("PP:({};{})OVERLAP_F_B", name.substr(3), op);
      continue;
    }
    file.events.push_back({"PP:" + op, static_cast<double>(span.start) / 1000,
                           static_cast<double>(span.end - span.start) / 1000});
  }
  for (std::size_t actor = 0; actor < files.size(); ++actor) {
    files[actor].rank = static_cast<int>(actor);
  }
  return files;
}

inline ImportedStep imported(const std::vector<TraceFile>& files,
                             const ImportOptions& options = {}) {
  std::vector<KinetoRank> ranks;
  for (const TraceFile& file : files) {
    ranks.push_back(read_kineto(trace_json(file), fmt::format("r{}.json", ranks.size())));
  }
  return import_step(std::move(ranks), options);
}

}  // namespace penstock
