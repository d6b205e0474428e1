#include "penstock/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "penstock/report.h"
#include "sample.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// `times[m][schedule]`; 0: refused.
Trials trials(const std::vector<std::vector<Nanoseconds>>& times) {
  Trials all;
  for (std::size_t i = 0; i < times.front().size(); ++i) all.schedules.push_back({char('a' + i)});
  for (std::size_t m = 0; m < times.size(); ++m) {
    all.microbatches.push_back(static_cast<std::int32_t>(4 * (m + 1)));
    std::vector<Trial>& row = all.results.emplace_back();
    for (const Nanoseconds time : times[m]) {
      row.push_back({.refused = time == 0 ? "too, small" : "", .makespan = time});
    }
  }
  return all;
}

std::vector<std::string> said(const Trials& all) {
  std::vector<std::string> lines;
  for (const Overtaking& one : overtakings(all)) {
    lines.push_back(all.schedules[one.winner] + " over " + all.schedules[one.loser] + " at " +
                    std::to_string(one.microbatches));
  }
  return lines;
}

TEST(Trials, OvertakingIsFromBehindOrLevelToAhead) {
  EXPECT_THAT(said(trials({{10, 9}, {20, 21}})), ElementsAre("a over b at 8"));
  EXPECT_THAT(said(trials({{10, 10}, {20, 21}})), ElementsAre("a over b at 8"));
  EXPECT_THAT(said(trials({{10, 9}, {20, 20}, {30, 31}})), ElementsAre("a over b at 12"));
  EXPECT_THAT(said(trials({{10, 9}, {20, 21}, {30, 29}})),
              ElementsAre("a over b at 8", "b over a at 12"));
  EXPECT_THAT(said(trials({{10, 9}, {20, 19}})), ElementsAre());
}

TEST(Trials, OvertakingPassesOverWhatIsRefused) {
  EXPECT_THAT(said(trials({{10, 0}, {20, 19}, {30, 31}})), ElementsAre("a over b at 12"));
  EXPECT_THAT(said(trials({{10, 9}, {20, 0}, {30, 31}})), ElementsAre("a over b at 12"));
  EXPECT_THAT(said(trials({{10, 0}, {0, 19}})), ElementsAre());
}

TEST(Trials, AreMeasuredFromATimeline) {
  const Timeline timeline = test::one_f_one_b();
  const Metrics metrics = measure(timeline);
  const Trial trial = trial_of(timeline);
  EXPECT_EQ(trial.makespan, metrics.makespan);
  EXPECT_EQ(trial.bubble_ratio, metrics.bubble_ratio);
  EXPECT_EQ(trial.peak_in_flight, metrics.actors[0].peak_in_flight);
  EXPECT_EQ(trial.peak_bytes, metrics.actors[0].peak_bytes);
  EXPECT_EQ(trial.weight_copies, 1);
  EXPECT_EQ(trial.messages, 2 * 3 * 8);  // three hops, both ways, eight microbatches
}

TEST(Trials, ATableMarksTheBestAndSaysWhatIsRefused) {
  const std::string text = trials_table(trials({{10, 0}, {20, 19}}));
  EXPECT_THAT(text, HasSubstr("4              *0.00 %        -\n"));
  EXPECT_THAT(text, HasSubstr("8               0.00 %  *0.00 %\n"));
  EXPECT_THAT(text, HasSubstr("- b at m = 4: too, small\n"));
}

TEST(Trials, CsvAndJsonHaveARowForEach) {
  const Trials all = trials({{10, 0}, {20, 19}});
  EXPECT_THAT(trials_csv(all), HasSubstr("\n4,b,,,,,,,,,\"too, small\"\n8,a,2e-08,"));
  const nlohmann::ordered_json json = trials_json(all);
  ASSERT_EQ(json["trials"].size(), 4u);
  EXPECT_TRUE(json["trials"][1]["makespan_s"].is_null());
  EXPECT_EQ(json["trials"][1]["refused"], "too, small");
  EXPECT_TRUE(json["trials"][0]["refused"].is_null());
}

}  // namespace
}  // namespace penstock
