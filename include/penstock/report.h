// File: report.h. Timelines for people and programs: terminal, JSON, CSV, HTML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "penstock/error.h"
#include "penstock/metrics.h"
#include "penstock/timeline.h"
#include "penstock/trials.h"

namespace penstock {

// The fields of `simulate --json` for one timeline (the command line's contract): unknown values
// are null, times are seconds. "critical_path" lists the links, earliest first:
//   {"op": "3F5", "actor": 3, "start_s": 0.0123, "end_s": 0.0133}
//   {"transfer": "activation 3F5", "actor": 3, "to": 4, "start_s": 0.0133, "end_s": 0.0134}
// In a path of more than 10,000 links, those that follow each other on one actor become one entry
// (with "last", its last op, and "links", how many): nothing is left out.
nlohmann::ordered_json report_json(const Timeline& timeline, const Metrics& metrics);

// One table per timeline, at most `columns` wide: a line per actor with busy time, utilisation,
// peak memory and idle causes, then the step's numbers.
std::string report_table(const Timeline& timeline, const Metrics& metrics, int columns = 80);

// A header and a row per (timeline, actor).
std::string report_csv(const std::vector<Timeline>& timelines);

// Why each op of one actor started when it did: a line per op, and a second one for the parts of a
// wait for a message.
//   4B2      started      12.300 ms, waited 310.00 us for the gradient of stage 5
//            200.00 us channel 3>2 busy, 110.00 us on the way
std::string explain(const Timeline& timeline, std::int32_t actor);

// Two timelines of the same schedule side by side: the step's numbers, the difference per op kind,
// per actor. `a` is the reference: differences are b - a, in per cent of a.
std::string compare_table(const Timeline& a, const Timeline& b, int columns = 80);
nlohmann::ordered_json compare_json(const Timeline& a, const Timeline& b);
// A header and a row per op (and per reduction, norm, update) of either: where and when each ran it
// and how long it took. Empty where one did not run it.
std::string compare_csv(const Timeline& a, const Timeline& b);

// One self-contained page that opens from disk without a network. Draws every timeline (zoom, hover
// tells op, times and what it waited for), utilisation and idle causes, memory over time, the loss
// curve when there is one, and, given a predicted and a measured timeline (or any two), the two
// side by side. Everything comes from the timelines, which may have been read from trace files.
// Above 20,000 ops in all the timelines are drawn as shares of busy time, and the page points to
// Perfetto. Titles, names and facts are shown as text, whatever they hold.
struct HtmlReport {
  std::string title;
  std::vector<Timeline> timelines;
  std::vector<double> losses;                              // per step; empty: no curve
  std::vector<std::pair<std::string, std::string>> facts;  // "step", "12.3 ms": the header table
  std::optional<Trials> trials;  // several schedules side by side, at one or more sizes
};
std::string report_html(const HtmlReport& report);

}  // namespace penstock
