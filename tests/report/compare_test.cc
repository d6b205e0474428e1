#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "penstock/report.h"
#include "sample.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;
using test::one_f_one_b;
using ::testing::HasSubstr;

Timeline predicted() {
  return one_f_one_b({.latency = 0});
}

// Forward takes 10 % longer, everything else the same.
Timeline measured() {
  return one_f_one_b({.forward = 1'100'000, .latency = 0, .source = TimelineSource::Measured});
}

TEST(CompareJson, DifferencesAreInPercentOfA) {
  const Json json = compare_json(predicted(), measured());
  EXPECT_EQ(json["a"]["source"], "predicted");
  EXPECT_EQ(json["b"]["source"], "measured");
  EXPECT_DOUBLE_EQ(json["makespan_s"]["a"], 33.5e-3);
  EXPECT_NEAR(json["makespan_s"]["difference_percent"].get<double>(),
              100 * (json["makespan_s"]["b"].get<double>() - 33.5e-3) / 33.5e-3, 1e-9);
  ASSERT_EQ(json["kinds"].size(), 3u);
  EXPECT_EQ(json["kinds"][0]["kind"], "F");
  EXPECT_EQ(json["kinds"][0]["count_a"], 32);
  EXPECT_NEAR(json["kinds"][0]["mean_s"]["difference_percent"].get<double>(), 10, 1e-9);
  EXPECT_EQ(json["kinds"][1]["mean_s"]["difference_percent"], 0);
  ASSERT_EQ(json["stages"].size(), 4u);
  EXPECT_NEAR(json["stages"][2]["kinds"][0]["mean_s"]["b"].get<double>(), 1.1e-3, 1e-12);
  ASSERT_EQ(json["actors"].size(), 4u);
  EXPECT_NEAR(json["actors"][3]["busy_s"]["difference_percent"].get<double>(),
              100 * (8 * 0.1 + 0.05) / 24.5, 1e-9);
  EXPECT_EQ(json["ops_only_in_a"], 0);
}

// Each kind of op and of action has a row of its own.
TEST(CompareJson, EveryKindIsARow) {
  Timeline every = predicted();
  const std::size_t first = every.spans.size();
  for (int kind = 0; kind < kOpKinds; ++kind) {
    Span span = every.spans.back();
    span.kind = ActionKind::Compute;
    span.op = {static_cast<OpKind>(kind), 3, 0, 0};
    span.start = span.end;
    span.end += 1'000'000 * (kind + 1);
    every.spans.push_back(span);
  }
  const Json json = compare_json(every, every);
  std::vector<std::string> kinds;
  std::int64_t count = 0;
  for (const Json& kind : json["kinds"]) {
    kinds.push_back(kind["kind"]);
    count += kind["count_a"].get<std::int64_t>();
  }
  EXPECT_THAT(kinds, testing::ElementsAre("F", "B", "I", "W", "R", "U", "update"));
  EXPECT_EQ(count, static_cast<std::int64_t>(first) + kOpKinds);
  EXPECT_EQ(json["stages"][3]["kinds"][4]["mean_s"]["b"], 5e-3);
}

// The predicted side may be either: the error is always in per cent of the measured step.
TEST(CompareJson, PredictionErrorIsOfTheMeasuredStep) {
  const double predicted_s = 33.5e-3;
  const double measured_s = compare_json(predicted(), measured())["makespan_s"]["b"];
  const double error = 100 * (predicted_s - measured_s) / measured_s;
  EXPECT_NEAR(compare_json(predicted(), measured())["error_percent"].get<double>(), error, 1e-9);
  EXPECT_NEAR(compare_json(measured(), predicted())["error_percent"].get<double>(), error, 1e-9);
  EXPECT_TRUE(compare_json(predicted(), predicted())["error_percent"].is_null());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(CompareCsv, HasARowForEachOp) {
  const std::vector<std::string> lines = lines_of(compare_csv(predicted(), measured()));
  ASSERT_EQ(lines.size(), 1 + predicted().spans.size());
  EXPECT_EQ(lines[0],
            "op,a_actor,a_start_s,a_duration_s,b_actor,b_start_s,b_duration_s,difference_percent");
  EXPECT_EQ(lines[1], "0F0,0,0,0.001,0,0,0.0011,10");
}

TEST(CompareCsv, WhatOneDidNotRunIsEmpty) {
  const Timeline whole = predicted();
  const Timeline split = one_f_one_b({.split = true});
  const std::string csv = compare_csv(whole, split);
  EXPECT_THAT(csv, HasSubstr("\n0B0,0,"));
  EXPECT_THAT(csv, HasSubstr("\n0I0,,,,0,"));
  for (const std::string& line : lines_of(csv)) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 7) << line;
  }
}

TEST(CompareJson, WhatOneDoesNotHaveIsNull) {
  const Timeline whole = predicted();
  const Timeline split = one_f_one_b({.actors = 2, .split = true});
  const Json json = compare_json(whole, split);
  EXPECT_EQ(json["kinds"][1]["kind"], "B");
  EXPECT_TRUE(json["kinds"][1]["mean_s"]["b"].is_null());
  EXPECT_TRUE(json["kinds"][1]["mean_s"]["difference_percent"].is_null());
  EXPECT_TRUE(json["actors"][3]["busy_s"]["b"].is_null());
  EXPECT_EQ(json["ops_only_in_a"], 48);  // 32 B, and 16 F of two actors
  EXPECT_EQ(json["ops_only_in_b"], 32);  // 16 I and 16 W
}

TEST(CompareTable, ShowsBothSidesAndTheError) {
  const std::string text = compare_table(predicted(), measured());
  EXPECT_THAT(text, HasSubstr("predicted  measured   difference"));
  EXPECT_THAT(text, HasSubstr("mean F                1.000 ms  1.100 ms      +10.0 %"));
  EXPECT_THAT(text, HasSubstr("mean B                2.000 ms  2.000 ms       +0.0 %"));
  EXPECT_THAT(text, HasSubstr("stage 3 mean F"));
  for (const std::string& line :
       lines_of(text)) {  // of ratios in points, of all others in per cent
    const bool is_ratio = line.starts_with("utilization") || line.starts_with("bubble");
    EXPECT_EQ(line.ends_with(" points"), is_ratio) << line;
  }
  EXPECT_THAT(text, HasSubstr("prediction error -"));
  EXPECT_THAT(compare_table(predicted(), predicted()), HasSubstr("a (predicted)"));
  EXPECT_THAT(compare_table(predicted(), one_f_one_b({.actors = 2})),
              HasSubstr("not the same schedule"));
}

TEST(CompareTable, KeepsToTheWidth) {
  Timeline many = one_f_one_b({.name = std::string(200, 'n'), .actors = 70});
  std::istringstream stream(compare_table(many, many, 80));
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace penstock
