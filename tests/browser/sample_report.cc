// Writes what the browser test opens, into the folder named by its argument:
//   report.html       a predicted and a measured timeline, losses, facts
//   measured.trace.json, predicted.trace.json, measured.json, predicted.json, comparison.json
//   kinds.html        every kind of op, two that overlap
//   trials.html       two schedules at three sizes, one of which the second refuses
//   large.html        more ops than a page draws
//   hostile.html      names that would break a page that trusted them
#include <filesystem>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "penstock/report.h"
#include "penstock/trace.h"
#include "sample.h"

namespace penstock {
namespace {

void write(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

Timeline predicted() {
  return test::one_f_one_b({});
}

Timeline measured() {
  return test::one_f_one_b({.jitter = 0.2, .source = TimelineSource::Measured});
}

// Split backwards, a pair, a reduction and a norm.
Timeline kinds() {
  Timeline timeline = test::one_f_one_b({.name = "kinds", .split = true});
  Span& second = timeline.spans[1];
  second.overlaps_previous = true;
  second.start = timeline.spans[0].start;
  const Nanoseconds end = timeline.spans.back().end;
  timeline.spans.back().kind = ActionKind::Update;
  const std::int32_t actor = timeline.actors - 1;
  timeline.spans.push_back({.kind = ActionKind::ReduceGradients,
                            .op = {.stage = actor},
                            .actor = actor,
                            .start = end,
                            .end = end + 500'000});
  timeline.spans.push_back({.kind = ActionKind::GlobalNorm,
                            .op = {.stage = -1},
                            .actor = actor,
                            .start = end + 500'000,
                            .end = end + 900'000});
  return timeline;
}

void write_main_report(const std::filesystem::path& folder) {
  const Timeline p = predicted();
  const Timeline m = measured();
  write(folder / "predicted.trace.json", write_trace(p));
  write(folder / "measured.trace.json", write_trace(m));
  write(folder / "predicted.json", report_json(p, measure(p)).dump());
  write(folder / "measured.json", report_json(m, measure(m)).dump());
  write(folder / "comparison.json", compare_json(m, p).dump());
  std::vector<double> losses;
  for (int step = 0; step < 50; ++step) losses.push_back(2.2 + 3.3 / (1 + 0.2 * step));
  write(folder / "report.html",
        report_html({.title = "tiny-gpt, 1f1b on 4 actors",
                     .timelines = {p, m},
                     .losses = losses,
                     .facts = {{"schedule", "1f1b"}, {"model", "tiny-gpt"}, {"steps", "50"}}}));
}

Trials trials() {
  Trials all{.schedules = {"few", "many"}, .microbatches = {4, 8, 16}, .results = {}};
  for (const double m : {4.0, 8.0, 16.0}) {
    const auto trial = [](double ms, double bubble) {
      return Trial{.makespan = from_ms(ms), .bubble_ratio = bubble, .weight_copies = 1};
    };
    all.results.push_back(
        {trial(3 * m + 9, 9 / (3 * m + 9)), trial(2.5 * m + 15, 15 / (2.5 * m + 15))});
  }
  all.results[0][1] = {.refused = "too few"};
  return all;
}

void write_all(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_main_report(folder);
  const auto one = [](const std::string& title, const Timeline& timeline) {
    return report_html({.title = title, .timelines = {timeline}, .losses = {}, .facts = {}});
  };
  write(folder / "kinds.html", one("Kinds", kinds()));
  write(folder / "large.html",
        one("Large", test::one_f_one_b({.actors = 64, .microbatches = 256, .latency = 200'000})));
  write(folder / "trials.html",
        report_html({.title = "Trials", .timelines = {}, .trials = trials()}));
  const std::string hostile =
      "</script><script>document.title='broken'</script><img src=x "
      "onerror=\"document.title='broken'\">"
      "@SCRIPT@ \xff";
  write(folder / "hostile.html", report_html({.title = hostile,
                                              .timelines = {test::one_f_one_b({.name = hostile})},
                                              .losses = {},
                                              .facts = {{hostile, hostile}}}));
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: sample_report FOLDER\n";
    return 2;
  }
  penstock::write_all(argv[1]);
}
