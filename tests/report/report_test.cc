#include "penstock/report.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sample.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;
using test::one_f_one_b;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

Json json_of(const Timeline& timeline) {
  return report_json(timeline, measure(timeline));
}

// 1F1B without latency: 3(m+p-1) ms and the last update, half a millisecond.
TEST(ReportJson, HoldsTheNumbersOfTheStep) {
  const Json json = json_of(one_f_one_b({.latency = 0}));
  EXPECT_DOUBLE_EQ(json["makespan_s"], 33.5e-3);
  EXPECT_DOUBLE_EQ(json["utilization"], 24.5 / 33.5);
  EXPECT_NEAR(json["bubble_ratio"].get<double>(), 9 / 33.5, 1e-12);
  EXPECT_NEAR(json["bubble_over_ideal"].get<double>(), 9 / 24.5, 1e-12);
  EXPECT_NEAR(json["tokens_per_s"].get<double>(), 1024 / 33.5e-3, 1e-6);
  EXPECT_TRUE(json["mfu"].is_null());
  EXPECT_EQ(json["schedule"], "1f1b");
  EXPECT_EQ(json["baselines"], Json::array());
  EXPECT_EQ(json["problems"], Json::array());
  EXPECT_TRUE(json["bubble_ratio_span"].is_number());
}

TEST(ReportJson, ActorsBusyAndIdleTimesAddUp) {
  const Json json = json_of(one_f_one_b());
  ASSERT_EQ(json["actors"].size(), 4u);
  for (const Json& actor : json["actors"]) {
    EXPECT_EQ(actor["idle"].size(), 8u);
    double sum = actor["busy_s"];
    for (const Json& idle : actor["idle"]) sum += idle.get<double>();
    EXPECT_NEAR(sum, json["makespan_s"].get<double>(), 1e-9);
  }
  EXPECT_EQ(json["actors"][0]["peak_in_flight"], 4);
  EXPECT_EQ(json["actors"][3]["peak_in_flight"], 1);
  EXPECT_EQ(json["actors"][1]["peak_bytes"], (10 << 20) + 3 * (1 << 20));
  EXPECT_DOUBLE_EQ(json["actors"][3]["idle"]["warmup_s"], 3.3e-3);
}

TEST(ReportJson, WhatIsUnknownIsNull) {
  Timeline timeline = one_f_one_b({.activation_bytes = 0, .weight_bytes = 0});
  timeline.tokens = 0;
  const Json json = json_of(timeline);
  EXPECT_TRUE(json["actors"][0]["peak_bytes"].is_null());
  EXPECT_TRUE(json["tokens_per_s"].is_null());
}

TEST(ReportJson, CriticalPathIsAChainFromStartToEnd) {
  const Json json = json_of(one_f_one_b());
  const Json& path = json["critical_path"];
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(path.front()["op"], "0F0");
  EXPECT_DOUBLE_EQ(path.front()["start_s"], 0);
  EXPECT_EQ(path.back()["op"], "update 0");
  EXPECT_DOUBLE_EQ(path.back()["end_s"], json["makespan_s"]);
  bool transfers = false;
  for (std::size_t i = 1; i < path.size(); ++i) {
    EXPECT_DOUBLE_EQ(path[i]["start_s"], path[i - 1]["end_s"]) << i;
    transfers |= path[i].contains("transfer");
  }
  EXPECT_TRUE(transfers);
}

TEST(ReportJson, ALongCriticalPathIsShortenedWithoutAGap) {
  const Json json = json_of(one_f_one_b({.actors = 1, .microbatches = 20'000}));
  const Json& path = json["critical_path"];
  ASSERT_EQ(path.size(), 1u);
  EXPECT_EQ(path[0]["op"], "0F0");
  EXPECT_EQ(path[0]["last"], "update 0");
  EXPECT_EQ(path[0]["links"], 40'001);
  EXPECT_DOUBLE_EQ(path[0]["end_s"], json["makespan_s"]);
}

TEST(ReportTable, ShowsEveryActorInOneUnit) {
  const Timeline timeline = one_f_one_b();
  const std::vector<std::string> shown = lines(report_table(timeline, measure(timeline)));
  EXPECT_EQ(shown[0], "1f1b (predicted): 4 actors, 8 microbatches");
  EXPECT_THAT(shown[2], HasSubstr("busy ms"));
  EXPECT_THAT(shown[2], HasSubstr("warmup"));
  EXPECT_THAT(shown[2], Not(HasSubstr("padding")));  // there is none
  EXPECT_THAT(shown[3], ::testing::StartsWith("0        24.50    69.8          4  14.0 MiB"));
  EXPECT_THAT(shown[6], ::testing::StartsWith("3        24.50    69.8          1  11.0 MiB"));
  EXPECT_THAT(shown[8], HasSubstr("step 35.10 ms   utilization 69.8 %   bubble 30.2 %"));
}

TEST(ReportTable, KeepsToTheWidth) {
  Timeline timeline = one_f_one_b({.name = std::string(300, 'x'), .actors = 100});
  Metrics metrics = measure(timeline);
  for (ActorMetrics& actor : metrics.actors) {
    for (Nanoseconds& idle : actor.idle) idle += 1;  // every cause occurs
  }
  for (const int columns : {60, 80, 120}) {
    const std::vector<std::string> shown = lines(report_table(timeline, metrics, columns));
    EXPECT_LT(shown.size(), 45u);  // the middle actors are left out
    for (const std::string& line : shown) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
    }
  }
  EXPECT_THAT(report_table(timeline, metrics, 80), HasSubstr("... 68 more"));
  EXPECT_THAT(report_table(timeline, metrics, 80), HasSubstr("other"));
}

TEST(ReportCsv, ARowPerActorOfEachTimeline) {
  Timeline measured = one_f_one_b({.name = "a,\"b\"", .source = TimelineSource::Measured});
  const std::vector<std::string> shown = lines(report_csv({one_f_one_b(), measured}));
  ASSERT_EQ(shown.size(), 9u);
  EXPECT_EQ(shown[0],
            "schedule,source,actor,makespan_s,busy_s,utilization,peak_in_flight,peak_bytes,"
            "idle_warmup_s,idle_drain_s,idle_dependency_s,idle_p2p_s,idle_collective_s,"
            "idle_blocked_s,idle_data_s,idle_padding_s,recompute_s,weight_versions");
  EXPECT_THAT(shown[1], ::testing::StartsWith("1f1b,predicted,0,0.0351,0.0245,"));
  EXPECT_THAT(shown[8], ::testing::StartsWith("\"a,\"\"b\"\"\",measured,3,0.0351,0.0245,"));
}

}  // namespace
}  // namespace penstock
