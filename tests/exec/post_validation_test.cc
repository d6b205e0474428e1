// Updates that are verified in the next step: the weights of a flush, to the bit, whatever the
// verdicts are.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../generate_near.h"
#include "actor_plan.h"
#include "fake_device.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::int32_t kSteps = 6;

// The same plan with updates that are verified later.
RunPlan validated(RunPlan plan) {
  plan.program = lower(plan.program.schedule, {.shared = plan.program.shared,
                                               .synchronization = Synchronization::PostValidation});
  return plan;
}

RunPlan with_clip(RunPlan plan, double clip) {
  plan.train.optimizer.clip = clip;
  return plan;
}

MakeDevice fake() {
  return [](const RunPlan& plan, std::int32_t) { return std::make_unique<FakeDevice>(plan, true); };
}

std::vector<double> norms_of(const RunResult& result) {
  std::vector<double> norms;
  for (const StepRecord& step : result.steps) norms.push_back(step.gradient_norm);
  return norms;
}

// Limits that no step exceeds, some do, all do by far (the first actor alone), and one that the
// smallest norm exceeds only just (all actors together).
std::vector<double> limits(const RunPlan& plan, const MakeDevice& make) {
  std::vector<double> norms = norms_of(run_in_process(with_clip(plan, 0), make));
  std::ranges::sort(norms);
  return {0, 2 * norms.back(), (norms[2] + norms[3]) / 2, 1e-6 * norms.front(),
          (1 - 1e-9) * norms.front()};
}

// What the actor sends before its verdict, in one step.
Traffic speculative_traffic(const RunPlan& plan, std::span<const MessagePlan> messages,
                            std::int32_t actor) {
  Traffic traffic;
  const std::int32_t speculative = speculative_computes(plan.program);
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const Message& message = plan.program.messages[m];
    if (message.from != actor || message.producer >= speculative) continue;
    ++traffic.messages_sent;
    traffic.bytes_sent += messages[m].floats * static_cast<std::int64_t>(sizeof(float));
  }
  return traffic;
}

// Messages as the program says, and those of each roll-back beside them.
void expect_traffic(const RunPlan& plan, const RunResult& result, const RunResult& flush) {
  const auto device = make_device(plan, 0);
  const auto messages =
      plan_messages(plan.program, [&](const Op& op) { return device->boundary_floats(op); });
  const auto rolled_back =
      std::ranges::count_if(result.steps, [](const StepRecord& s) { return s.rolled_back; });
  // Behind the last step nothing has run that could be wrong.
  const auto again = rolled_back - (result.steps.back().rolled_back ? 1 : 0);
  for (std::size_t actor = 0; actor < result.traffic.size(); ++actor) {
    const Traffic& traffic = result.traffic[actor];
    const Traffic one = speculative_traffic(plan, messages, static_cast<std::int32_t>(actor));
    EXPECT_EQ(traffic.messages_sent, flush.traffic[actor].messages_sent);
    EXPECT_EQ(traffic.bytes_sent, flush.traffic[actor].bytes_sent);
    EXPECT_EQ(traffic.messages_resent, again * one.messages_sent);
    EXPECT_EQ(traffic.bytes_resent, again * one.bytes_sent);
  }
}

void expect_verdicts(const RunResult& result, double clip) {
  for (const StepRecord& step : result.steps) {
    EXPECT_EQ(step.rolled_back, clip > 0 && step.gradient_norm > clip - 1e-6) << step.step;
  }
}

class PostValidated : public ::testing::TestWithParam<Generator> {};

// A schedule of the generator on so many actors that updates of can be verified.
std::optional<Schedule> schedule_of(const Generator& generator, std::int32_t actors) {
  for (const std::int32_t chunks : {2, 1}) {
    for (const std::int32_t slices : {2, 1}) {
      auto schedule = generate_if_legal(
          generator.name,
          {.actors = actors, .chunks = chunks, .microbatches = 2 * actors, .slices = slices});
      if (!schedule) continue;
      try {
        const Program program =
            lower(*schedule, {.synchronization = Synchronization::PostValidation});
        if (executable_problems(program).empty()) return schedule;
      } catch (const Error&) {
      }
    }
  }
  return std::nullopt;
}

TEST_P(PostValidated, TrainsLikeAFlush) {
  Model model = testing::text_model(testing::tiny_gpt2());
  int runs = 0;
  for (const std::int32_t actors : {2, 4}) {
    const auto schedule = schedule_of(GetParam(), actors);
    if (!schedule) continue;
    SCOPED_TRACE(actors);
    const auto parts = static_cast<std::int32_t>(schedule->pipeline.routes[0].size());
    model.layers = std::max(parts, 4);
    const RunPlan flush = training_plan(model, *schedule, even_split(model, parts), kSteps);
    for (const double clip : limits(flush, make_device)) {
      SCOPED_TRACE(clip);
      const RunPlan plan = validated(with_clip(flush, clip));
      const RunResult reference = run_in_process(with_clip(flush, clip), make_device);
      const RunResult result = run_in_process(
          plan, make_device, {.seed = static_cast<std::uint64_t>(++runs), .longest_delay = 100us});
      expect_same_bits(result, reference);
      expect_verdicts(result, clip);
      expect_traffic(plan, result, reference);
    }
  }
  const bool one_route = schedule_of(GetParam(), 2) || schedule_of(GetParam(), 4);
  EXPECT_EQ(runs > 0, one_route);
}

INSTANTIATE_TEST_SUITE_P(Schedules, PostValidated,
                         ::testing::ValuesIn(generators().begin(), generators().end()),
                         [](const auto& info) { return "_" + std::string(info.param.name); });

// The fake device notices inputs that change too early, and message mix-ups.
TEST(PostValidation, EveryVerdictGivesTheBitsOfAFlush) {
  int runs = 0;
  for (const char* name : {"gpipe", "1f1b", "zb_h2", "eager_1f1b"}) {
    for (const std::int32_t actors : {2, 3, 4}) {
      const auto schedule = generate(name, {.actors = actors, .microbatches = 7});
      const RunPlan flush = fake_plan(schedule, true, kSteps);
      for (const double clip : limits(flush, fake())) {
        SCOPED_TRACE(fmt::format("{} p={} clip={}", name, actors, clip));
        const RunResult reference = run_in_process(with_clip(flush, clip), fake());
        const RunResult result =
            run_in_process(validated(with_clip(flush, clip)), fake(),
                           {.seed = static_cast<std::uint64_t>(++runs), .longest_delay = 200us},
                           {.profile_steps = runs % 2, .on_step = {}});
        ASSERT_EQ(result.steps.size(), reference.steps.size());
        EXPECT_EQ(norms_of(result), norms_of(reference));
        for (std::size_t i = 0; i < result.steps.size(); ++i) {
          EXPECT_EQ(result.steps[i].loss, reference.steps[i].loss);
          EXPECT_EQ(result.steps[i].learning_rate, reference.steps[i].learning_rate);
        }
        EXPECT_EQ(result.parameters_sha256, reference.parameters_sha256);
        expect_verdicts(result, clip);
      }
    }
  }
}

// Only the whole norm exceeds the limit: whoever had updated undoes it. The first actor's alone
// does: nobody has.
TEST(PostValidation, WhoHadUpdatedRollsBack) {
  const RunPlan flush =
      fake_plan(generate("zb_h1", {.actors = 4, .microbatches = 6}), true, kSteps);
  const std::vector<double> some = limits(flush, fake());
  const auto roll_backs = [&](double clip) {
    Watch watch;
    run_in_process(validated(with_clip(flush, clip)), watched(fake(), watch));
    return std::vector{watch.roll_backs(0), watch.roll_backs(1), watch.roll_backs(2),
                       watch.roll_backs(3)};
  };
  EXPECT_EQ(roll_backs(some[1]), (std::vector<std::int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(roll_backs(some[3]), (std::vector<std::int32_t>{0, 0, 0, 0}));
  const std::vector<std::int32_t> just = roll_backs(some[4]);
  for (std::size_t actor = 0; actor < 3; ++actor) EXPECT_GE(just[actor], 1) << actor;
  EXPECT_EQ(just[3], 0);
}

TEST(PostValidation, NeverDeadlocksUnderRendezvous) {
  for (const char* name : {"gpipe", "1f1b", "zb_h2", "interleaved_1f1b", "zb_v", "v_half"}) {
    for (const std::int32_t actors : {2, 4}) {
      const std::int32_t chunks =
          name[0] == 'i' || std::string(name).find("v") == 0 || std::string(name) == "zb_v" ? 2 : 1;
      const auto schedule =
          generate(name, {.actors = actors, .chunks = chunks, .microbatches = 2 * actors});
      const RunPlan plan = validated(fake_plan(schedule, true, 3));
      SCOPED_TRACE(fmt::format("{} p={}", name, actors));
      EXPECT_NO_THROW(run_in_process(with_clip(plan, 0), fake(), {.rendezvous = true}));
      EXPECT_NO_THROW(run_in_process(with_clip(plan, 1e-6), fake(), {.rendezvous = true}));
    }
  }
}

TEST(PostValidation, NanLossEndsTheRunOnEveryActor) {
  const RunPlan plan =
      validated(fake_plan(generate("1f1b", {.actors = 3, .microbatches = 4}), true, 3));
  std::vector<std::string> texts(3);
  with_actors(3, [&](Transport& t) {
    try {
      run_actor(
          plan, {},
          [](const RunPlan& p, std::int32_t) {
            return std::make_unique<FakeDevice>(p, true,
                                                FakeFaults{.nan_microbatch = 2, .nan_step = 1});
          },
          t);
    } catch (const RunError& error) {
      texts[static_cast<std::size_t>(t.actor())] = error.what();
    }
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("step 2: the loss of microbatch 2"));
    EXPECT_THAT(text, HasSubstr("actor 2, op 2F2"));
  }
}

// The last actor ends no step before the first has begun the next.
class LateDevice final : public WatchedDevice {
 public:
  struct Gate {
    std::mutex mutex;
    std::condition_variable opens;
    std::int64_t begun = 0;  // steps, by the first actor
    std::int32_t timeouts = 0;
  };
  LateDevice(const RunPlan& plan, std::int32_t actor, Watch& watch, Gate& gate)
      : WatchedDevice(plan, actor, std::make_unique<FakeDevice>(plan, false), watch),
        first_(actor == 0),
        last_(plan.program.schedule.order.back().back().op),
        gate_(gate) {}

  void begin_step(std::int64_t step) override {
    step_ = step;
    WatchedDevice::begin_step(step);
  }
  void run(const Op& op, std::span<const float> input, std::span<float> output) override {
    std::unique_lock lock(gate_.mutex);
    if (first_) {
      gate_.begun = std::max(gate_.begun, step_ + 1);
      gate_.opens.notify_all();
    }
    if (op == last_ && step_ + 1 < kSteps &&
        !gate_.opens.wait_for(lock, 10s, [&] { return gate_.begun > step_ + 1; })) {
      ++gate_.timeouts;
    }
    lock.unlock();
    WatchedDevice::run(op, input, output);
  }

 private:
  bool first_;
  Op last_;
  Gate& gate_;
  std::int64_t step_ = 0;
};

TEST(PostValidation, StepsOverlap) {
  const RunPlan plan = validated(
      with_clip(fake_plan(generate("zb_h1", {.actors = 3, .microbatches = 6}), false, kSteps), 0));
  ASSERT_EQ(plan.program.schedule.order.back().back().op.kind, OpKind::BackwardWeight);
  Watch watch;
  LateDevice::Gate gate;
  std::vector<std::int32_t> seen;
  const RunResult result = run_in_process(
      plan,
      [&](const RunPlan& p, std::int32_t actor) {
        return std::make_unique<LateDevice>(p, actor, watch, gate);
      },
      {}, {.on_step = [&](const StepRecord& record) { seen.push_back(record.step); }});
  EXPECT_EQ(gate.timeouts, 0);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  for (const StepRecord& step : result.steps) EXPECT_GT(step.seconds, 0);
  const Timeline& t = result.measured;
  EXPECT_GT(t.period, 0);
  EXPECT_EQ(measure(t).makespan, t.period);
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    EXPECT_LE(0, t.spans[i].start);
    EXPECT_LE(t.spans[i].start, t.spans[i].end);
    if (i == 0 || t.spans[i - 1].actor != t.spans[i].actor) continue;
    EXPECT_LE(t.spans[i - 1].end, t.spans[i].start);
  }
}

TEST(PostValidation, DevicesCountTheCopyTheyKeep) {
  const Model model = testing::text_model(testing::tiny_gpt2());
  const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 4});
  const RunPlan flush = training_plan(model, schedule, even_split(model, 2), 1);
  const RunPlan plan = validated(flush);
  for (const std::int32_t actor : {0, 1}) {
    const std::int64_t bytes = make_device(flush, actor)->weight_bytes(actor);
    EXPECT_EQ(make_device(plan, actor)->weight_bytes(actor), actor == 0 ? bytes / 4 * 7 : bytes);
  }
}

TEST(PostValidation, NeedsTheReceivesBeforeTheVerdict) {
  const Schedule schedule = generate("gpipe", {.actors = 3, .microbatches = 3});
  const auto problems = [&](MessagePlacement placement) {
    return executable_problems(lower(
        schedule, {.placement = placement, .synchronization = Synchronization::PostValidation}));
  };
  EXPECT_TRUE(problems(MessagePlacement::Linear).empty());
  ASSERT_EQ(problems(MessagePlacement::Naive).size(), 1U);
  EXPECT_THAT(to_string(problems(MessagePlacement::Naive)[0]),
              HasSubstr("received behind the verdict"));
}

}  // namespace
}  // namespace penstock
