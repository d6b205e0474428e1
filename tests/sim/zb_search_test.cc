// The searched zero-bubble schedules: what they promise, on published and on random costs.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "penstock/check.h"
#include "penstock/error.h"
#include "scenarios.h"

namespace penstock {
namespace {

std::int32_t number(std::int32_t first, std::int32_t last) {
  return *rc::gen::inRange(first, last + 1);
}

// Stages of unequal speed, hops of unequal latency.
CostTable any_costs(std::int32_t actors) {
  CostTable costs;
  const std::int32_t spread = number(0, 3);
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    StageCosts stage;
    for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
      stage.op[static_cast<std::size_t>(kind)] =
          Duration{.base = from_ms(10 + number(0, 5 * spread))};
    }
    stage.message.latency = from_ms(number(0, 2 * spread));
    costs.stages.push_back(stage);
  }
  return costs;
}

Nanoseconds longest_actor(const Schedule& schedule, const CostTable& costs) {
  const Timeline timeline = simulate(lower(schedule), costs);
  std::map<std::int32_t, std::pair<Nanoseconds, Nanoseconds>> spans;
  for (const Span& span : timeline.spans) {
    if (span.kind != ActionKind::Compute) continue;
    auto& [first, last] = spans.try_emplace(span.actor, span.start, span.end).first->second;
    first = std::min(first, span.start);
    last = std::max(last, span.end);
  }
  Nanoseconds longest = 0;
  for (const auto& [actor, span] : spans) longest = std::max(longest, span.second - span.first);
  return longest;
}

RC_GTEST_PROP(ZbSearch, KeepsToItsMemoryAndBeatsTheRules, ()) {
  const std::int32_t actors = number(1, 8);
  GenerateOptions options{.actors = actors, .microbatches = number(1, 24)};
  options.costs = any_costs(actors);
  const double limit = number(2, 4 * actors) / 2.0;
  const double share = number(0, 4) / 4.0;
  options.option = {{"memory", std::to_string(limit)}, {"weight_share", std::to_string(share)}};
  const Schedule found = generate("zb_1p", options);
  RC_ASSERT(check(found) == std::vector<Problem>{});
  RC_ASSERT(most_held(found, share) <= limit + 1e-9);
  const Nanoseconds span = longest_actor(found, *options.costs);
  options.option.clear();
  for (const char* name : {"zb_h1", "zb_h2"}) {
    const Schedule rule = generate(name, options);
    if (most_held(rule, share) <= limit) RC_ASSERT(span <= longest_actor(rule, *options.costs));
  }
}

std::string refusal(const char* name, const GenerateOptions& options) {
  try {
    generate(name, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

GenerateOptions with(const char* costs, std::map<std::string, std::string> option = {}) {
  return {
      .actors = 4, .microbatches = 8, .option = std::move(option), .costs = parse_costs(costs, 4)};
}

// One microbatch at a time: each waits for the one before, whatever the actor.
TEST(ZbSearch, TheSmallestMemoryThatWorksIsOneMicrobatch) {
  const Schedule one = generate("zb_1p", with("F=1,I=1,W=1", {{"memory", "1"}}));
  EXPECT_EQ(most_held(one, 0.5), 1);
  for (const std::vector<Step>& order : one.order) {
    EXPECT_EQ(order[1].op.kind, OpKind::BackwardInput);
  }
  EXPECT_EQ(
      refusal("zb_2p", with("F=1,I=1,W=1", {{"memory", "0.75"}})),
      "option memory: zb_2p cannot keep to 0.75 microbatch activations per actor: no schedule "
      "can, as a forward alone stores one\n  hint: at least 1");
}

TEST(ZbSearch, NeedsTheTimesOfFAndIAndW) {
  EXPECT_EQ(refusal("zb_1p", {.actors = 4, .microbatches = 8}),
            "costs: zb_1p is made for given costs, and there are none\n"
            "  hint: say what the ops take: --costs F=1,I=1,W=1,latency=0.1 or --costs-file FILE");
  EXPECT_THAT(refusal("zb_1p", with("F=1,B=2")),
              testing::HasSubstr("costs: I of stages 0 to 3 has no duration"));
  GenerateOptions few = with("F=1,I=1,W=1");
  few.costs->stages.pop_back();
  EXPECT_THAT(refusal("zb_1p", few), testing::HasSubstr("3 stages"));
}

TEST(ZbSearch, ReportsEveryOptionAtOnce) {
  GenerateOptions options = with("F=1,I=1,W=1", {{"memory", "lots"}, {"weight_share", "1.5"}});
  options.chunks = 2;
  EXPECT_EQ(refusal("zb_1p", options),
            "chunks: zb_1p has one stage per actor, not 2\n"
            "  hint: interleaved_1f1b, looped_bfs and interleaved_zb1p take several\n"
            "option memory: 'lots' is no number from 0 on\n  hint: for example memory=4\n"
            "option weight_share: 1.5 of an activation are more than the whole\n"
            "  hint: 0 to 1: what a weight gradient needs of it");
  for (const char* text : {"", "-1", "nan", "inf", "4x", "1e999"}) {
    EXPECT_THAT(refusal("zb_1p", with("F=1,I=1,W=1", {{"memory", text}})),
                testing::StartsWith(fmt::format("option memory: '{}' is no number", text)));
  }
}

// Same input, same order, on any machine.
// However the file says it, a message takes the same time.
TEST(ZbSearch, BytesOfTheOneSliceAreTheMessages) {
  CostTable costs = parse_costs("F=3,I=2,W=2,bytes=1000,bandwidth=1000000", 4);
  const GenerateOptions options{.actors = 4, .microbatches = 8, .costs = costs};
  CostTable listed = costs;
  for (StageCosts& stage : listed.stages) {
    stage.message.varied = {{std::exchange(stage.message.bytes, 0)}};
  }
  for (const char* name : {"zb_1p", "zb_2p"}) {
    const Schedule schedule = generate(name, options);
    EXPECT_EQ(generate(name, {.actors = 4, .microbatches = 8, .costs = listed}), schedule);
    for (StageCosts& stage : listed.stages) stage.message.bytes_per_s = 0;
    EXPECT_NE(generate(name, {.actors = 4, .microbatches = 8, .costs = listed}), schedule)
        << "messages make no difference here";
    for (StageCosts& stage : listed.stages) stage.message.bytes_per_s = 1e6;
  }
}

TEST(ZbSearch, IsDeterministic) {
  const auto found = [] { return generate("zb_2p", with("F=1.3,I=1.1,W=0.7,latency=0.2")); };
  EXPECT_EQ(found(), found());
}

}  // namespace
}  // namespace penstock
