#include "penstock/costs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/program.h"
#include "penstock/simulate.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> problems_of(const std::function<void()>& call) {
  std::vector<std::string> lines;
  try {
    call();
  } catch (const Error& error) {
    for (const Problem& problem : error.problems()) lines.push_back(to_string(problem));
  }
  return lines;
}

std::vector<std::string> problems_of_text(const std::string& text) {
  return problems_of([&] { parse_costs(text, 2); });
}

std::vector<std::string> problems_of_file(const std::string& json) {
  return problems_of([&] { read_costs(json, "c.json"); });
}

TEST(CostsText, EveryKey) {
  const CostTable costs = parse_costs(
      "F=1, B=2,I=0.5,W=1.5,latency=0.1,bytes=1e6,bandwidth=2e9,update=3,reduce=4,norm=5,"
      "activation=7,left=6,weight=8,overlap=2.5",
      3);
  ASSERT_EQ(costs.stages.size(), 3U);
  const StageCosts& stage = costs.stages[2];
  EXPECT_EQ(costs.duration({OpKind::Forward, 2, 0}), 1'000'000);
  EXPECT_EQ(costs.duration({OpKind::Backward, 2, 0}), 2'000'000);
  EXPECT_EQ(costs.duration({OpKind::BackwardInput, 2, 0}), 500'000);
  EXPECT_EQ(costs.duration({OpKind::BackwardWeight, 2, 0}), 1'500'000);
  EXPECT_EQ(stage.message, (MessageCost{1'000'000, 100'000, 2e9}));
  EXPECT_EQ(stage.message.occupancy(stage.message.bytes), 500'000);
  EXPECT_EQ(stage.update, 3'000'000);
  EXPECT_EQ(stage.reduce, 4'000'000);
  EXPECT_EQ(costs.global_norm, 5'000'000);
  EXPECT_EQ(stage.activation_bytes, 7);
  EXPECT_EQ(stage.left_bytes, 6);
  EXPECT_EQ(stage.weight_bytes, 8);
  EXPECT_EQ(costs.overlap_fb, 2'500'000);
}

TEST(CostsText, BackwardLeftOutIsInputPlusWeight) {
  EXPECT_EQ(parse_costs("F=1,I=2,W=3", 1).duration({OpKind::Backward, 0, 0}), 5'000'000);
}

TEST(CostsText, EveryProblemAtOnce) {
  EXPECT_THAT(problems_of_text("F=1,Q=2,B=x,I=-1,W=nan,latency=inf,F=2,update,overlap=1e10"),
              ElementsAre(HasSubstr("unknown key 'Q'"), HasSubstr("'x' is not a number"),
                          HasSubstr("-1 is out of range"), HasSubstr("nan is out of range"),
                          HasSubstr("inf is out of range"), HasSubstr("'F' is given twice"),
                          HasSubstr("expected key=value"), HasSubstr("1e10 is out of range")));
  EXPECT_THAT(problems_of_text(""), ElementsAre(HasSubstr("expected key=value")));
  // One letter is no misspelling of another.
  EXPECT_THAT(problems_of_text("x=1"), ElementsAre(HasSubstr("known: F, B, I, W")));
  EXPECT_THAT(problems_of_text("latncy=1"), ElementsAre(HasSubstr("did you mean 'latency'")));
  EXPECT_THAT(problems_of_text("F=1,bytes=1e12,bandwidth=0.001"),
              ElementsAre(HasSubstr("bytes per second")));
  EXPECT_THAT(problems_of_text("F=1,activation=7,left=8"),
              ElementsAre(HasSubstr("I leaves 8 bytes of an activation of 7")));
  EXPECT_THAT(problems_of_text("F=1,left=1"),
              ElementsAre(HasSubstr("I leaves 1 bytes of an activation of 0")));
}

constexpr const char* kFile = R"({
  "stages": [
    {"forward_ms": 10.5, "backward_ms": 21.1, "update_ms": 1, "reduce_ms": 2,
     "message": {"bytes": 4096, "latency_ms": 0.25, "bytes_per_s": 1e9},
     "activation_bytes": 100, "left_bytes": 40, "weight_bytes": 200},
    {"forward_ms": [1, 2], "backward_input_ms": [[1, 2], [3, 4]], "backward_weight_ms": 5,
     "recompute_ms": 9, "backward_ms": null,
     "message": {"bytes": [[1, 2], [3, 4]]}}
  ],
  "latency_ms": 0.5, "overlap_fb_ms": 7, "global_norm_ms": 0.125,
  "machine": {"blas": "Haswell", "device": "cpu"}})";

TEST(CostsFile, EveryKey) {
  const CostTable costs = read_costs(kFile, "c.json");
  ASSERT_EQ(costs.stages.size(), 2U);
  EXPECT_EQ(costs.duration({OpKind::Forward, 0, 3}), 10'500'000);
  EXPECT_EQ(costs.duration({OpKind::Backward, 0, 3}), 21'100'000);
  EXPECT_EQ(costs.stages[0].message, (MessageCost{4096, 250'000, 1e9}));
  EXPECT_EQ(costs.stages[1].message, (MessageCost{0, 500'000, 0, {{1, 2}, {3, 4}}, true}));
  EXPECT_EQ(costs.stages[1].message.bytes_of(1, 0), 3);
  EXPECT_EQ(costs.stages[0].left_bytes, 40);
  EXPECT_FALSE(costs.stages[1].left_bytes.has_value());
  EXPECT_EQ(costs.duration({OpKind::Forward, 1, 1, 1}), 2'000'000);
  EXPECT_EQ(costs.duration({OpKind::BackwardInput, 1, 1, 0}), 3'000'000);
  EXPECT_EQ(costs.duration({OpKind::Backward, 1, 1, 1}), 9'000'000);
  EXPECT_EQ(costs.overlap_fb, 7'000'000);
  EXPECT_EQ(costs.global_norm, 125'000);
  EXPECT_THAT(costs.machine, HasSubstr("Haswell"));
}

TEST(CostsFile, RoundTrip) {
  const CostTable costs = read_costs(kFile, "c.json");
  EXPECT_EQ(read_costs(write_costs(costs), "again"), costs);
  EXPECT_EQ(write_costs(read_costs(write_costs(costs), "again")), write_costs(costs));
}

TEST(CostsFile, EveryProblemAtOnceWithItsPlace) {
  EXPECT_THAT(problems_of_file(R"({"stages": [{"forward_ms": -1, "bakward_ms": 2},
                                      {"forward_ms": "1", "message": {"bytes": 1.5, "rate": 1}},
                                      {"forward_ms": [], "weight_bytes": -1,
                                       "activation_bytes": 2, "left_bytes": 3}, 3,
                                      {"message": {"bytes": [[1, -2], 3]}}],
                           "latency_ms": 1e12, "machine": 3})"),
              testing::UnorderedElementsAre(
                  HasSubstr("c.json:/stages/0/bakward_ms: unknown key"),
                  HasSubstr("c.json:/stages/0/forward_ms: -1 is out of range"),
                  HasSubstr("c.json:/stages/1/forward_ms: expected a number"),
                  HasSubstr("c.json:/stages/1/message/rate: unknown key"),
                  HasSubstr("c.json:/stages/1/message/bytes: expected a whole number"),
                  HasSubstr("c.json:/stages/2/forward_ms: an empty array"),
                  HasSubstr("c.json:/stages/2/weight_bytes: -1 is out of range"),
                  HasSubstr("c.json:/stages/2/left_bytes: I leaves 3 bytes"),
                  HasSubstr("c.json:/stages/3: expected an object"),
                  HasSubstr("c.json:/stages/4/message/bytes/0/1: -2 is out of range"),
                  HasSubstr("c.json:/stages/4/message/bytes/1: expected an array"),
                  HasSubstr("c.json:/latency_ms: 1000000000000.0 is out of range"),
                  HasSubstr("c.json:/machine: expected an object")));
}

TEST(CostsFile, NotACostsFile) {
  for (const char* text : {"", "[]", "3", "{", "{}", R"({"stages": []})", R"({"stages": 1})"}) {
    EXPECT_THROW(read_costs(text, "c.json"), Error) << text;
  }
}

std::vector<std::string> missing(const std::string& costs, const Schedule& schedule) {
  std::vector<std::string> lines;
  const auto stages = static_cast<std::int32_t>(schedule.pipeline.stages.size());
  for (const Problem& problem : missing_costs(parse_costs(costs, stages), schedule)) {
    lines.push_back(to_string(problem));
  }
  return lines;
}

TEST(MissingCosts, AreNeverGuessed) {
  const Schedule whole = generate("1f1b", {.actors = 2, .microbatches = 2});
  const Schedule split = parse("0: 0F0 0I0 0W0\n1: 1F0 1I0 1W0");
  EXPECT_THAT(missing("F=1,B=2", whole), ElementsAre());
  EXPECT_THAT(missing("F=1,I=2,W=1", whole), ElementsAre());
  EXPECT_THAT(missing("F=1,I=2", whole), ElementsAre(HasSubstr("B of stages 0 to 1")));
  EXPECT_THAT(
      missing("F=1,B=2,I=1", split),
      ElementsAre(testing::AllOf(HasSubstr("W of stages 0 to 1"), HasSubstr("not guessed"))));
  EXPECT_THAT(missing("B=2", whole), ElementsAre(HasSubstr("F of stages 0 to 1")));
}

TEST(MissingCosts, TablesOfAnotherSize) {
  const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 2});
  EXPECT_THAT(missing_costs(parse_costs("F=1,B=2", 3), schedule), testing::SizeIs(1));
  CostTable costs = parse_costs("F=1,B=2", 2);
  costs.stages[0].op[0] = Duration{.varied = {{1}}, .microbatch_varies = true};
  costs.stages[1].op[1] = Duration{.varied = {{1, 2}}};
  const std::vector<Problem> problems = missing_costs(costs, schedule);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0].what, HasSubstr("F of stage 0 gives 1 microbatches"));
  EXPECT_THAT(problems[1].what, HasSubstr("B of stage 1 gives 2 slices"));
  costs = parse_costs("F=1,B=2", 2);
  costs.stages[0].message.varied = {{10, 20, 30}};
  ASSERT_EQ(missing_costs(costs, schedule).size(), 1U);
  EXPECT_EQ(missing_costs(costs, schedule)[0].what,
            "the message of stage 0 gives 3 slices, microbatch 0 has 1");
  costs.stages[0].message = {.varied = {{10}, {20}, {30}}, .microbatch_varies = true};
  ASSERT_EQ(missing_costs(costs, schedule).size(), 1U);
  EXPECT_EQ(missing_costs(costs, schedule)[0].what,
            "the message of stage 0 gives 3 microbatches, the schedule has 2");
}

// Slices of different lengths have messages of different sizes.
TEST(SliceBytes, PriceEachMessage) {
  constexpr const char* kStage =
      R"({"forward_ms": 1, "backward_ms": 1,
          "message": {"bytes": [1000, 3000], "latency_ms": 0.5, "bytes_per_s": 1e6}})";
  const CostTable costs =
      read_costs(fmt::format(R"({{"stages": [{0}, {0}]}})", kStage), "costs.json");
  EXPECT_EQ(read_costs(write_costs(costs), "again"), costs);
  EXPECT_EQ(costs.stages[0].message.largest(), 3000);
  Schedule schedule = parse("0: 0F0 0F0.1 0B0.1 0B0\n1: 1F0 1F0.1 1B0.1 1B0");
  schedule.pipeline.microbatches[0].slice_tokens = {1, 3};
  ASSERT_TRUE(missing_costs(costs, schedule).empty());
  const Timeline timeline = simulate(lower(schedule), costs);
  ASSERT_EQ(timeline.transfers.size(), 4U);
  for (const Transfer& transfer : timeline.transfers) {
    const std::int64_t bytes = transfer.op.slice == 0 ? 1000 : 3000;
    EXPECT_EQ(transfer.bytes, bytes);
    EXPECT_EQ(transfer.end - transfer.start, bytes * 1000 + from_ms(0.5));  // a byte takes 1 us
  }
  EXPECT_THROW(read_costs(R"({"stages": [{"forward_ms": 1, "message": {"bytes": []}}]})", "c.json"),
               Error);
}

// And so have microbatches of different lengths, cut into different numbers of slices.
TEST(MicrobatchBytes, PriceEachMessage) {
  constexpr const char* kStage =
      R"({"forward_ms": 1, "backward_ms": 1,
          "message": {"bytes": [[1000, 3000], [500]], "latency_ms": 0.5, "bytes_per_s": 1e6}})";
  const CostTable costs =
      read_costs(fmt::format(R"({{"stages": [{0}, {0}, {0}]}})", kStage), "costs.json");
  EXPECT_EQ(read_costs(write_costs(costs), "again"), costs);
  EXPECT_EQ(costs.stages[0].message.largest(), 3000);
  Schedule schedule = parse(
      "0: 0F0 0F0.1 0F1 0B0.1 0B0 0B1\n1: 1F0 1F0.1 1F1 1B0.1 1B0 1B1\n"
      "2: 2F0 2F0.1 2F1 2B0.1 2B0 2B1");
  schedule.pipeline.microbatches[0].slice_tokens = {1, 3};
  ASSERT_TRUE(missing_costs(costs, schedule).empty());
  const Timeline timeline = simulate(lower(schedule), costs);
  ASSERT_EQ(timeline.transfers.size(), 12U);
  for (const Transfer& transfer : timeline.transfers) {
    const std::int64_t whole = transfer.op.slice == 0 ? 1000 : 3000;
    const std::int64_t bytes = transfer.op.microbatch == 1 ? 500 : whole;
    EXPECT_EQ(transfer.bytes, bytes);
    EXPECT_EQ(transfer.end - transfer.start, bytes * 1000 + from_ms(0.5));  // a byte takes 1 us
  }
  // What is kept for an R is the input of the largest microbatch.
  CostTable kept = costs;
  for (StageCosts& stage : kept.stages) stage.activation_bytes = 10'000;
  EXPECT_THAT(kept_bytes(kept, schedule.pipeline), ElementsAre(0, 4000, 4000));
}

}  // namespace
}  // namespace penstock
