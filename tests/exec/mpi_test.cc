// Run by mpirun: every process is an actor and runs every test.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "fake_device.h"
#include "list_schedule.h"
#include "obituary.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "random_traffic.h"
#include "runs.h"
#include "training_runs.h"
#include "transport/mpi_session.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Transport> make_transport(const std::string& name, MpiSession& session) {
  return name == "mpi" ? make_mpi_transport(session) : make_window_transport(session);
}

class OverMpi : public ::testing::TestWithParam<const char*> {
 protected:
  static std::int32_t size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
  }
};

TEST_P(OverMpi, RandomTraffic) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    MpiSession session;
    RandomTraffic(*make_transport(GetParam(), session), seed, 300, 100'000).run();
  }
}

// Longer than the exchange area, and empty.
TEST_P(OverMpi, ExchangesOfEverySize) {
  MpiSession session;
  const auto transport = make_transport(GetParam(), session);
  for (const std::size_t floats : {0UL, 1UL, 16384UL, 16385UL, 100'000UL}) {
    const std::vector<float> mine(floats, static_cast<float>(transport->actor()));
    std::vector<float> all(floats * static_cast<std::size_t>(size()));
    transport->all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i], static_cast<float>(i / floats));
    }
  }
}

TEST_P(OverMpi, SchedulesAreBitIdenticalToOneActor) {
  for (const ScheduleCase& c : schedule_cases({size()}, {1, 4, 8})) {
    const std::optional<Schedule> schedule = make(c);
    if (!schedule) continue;
    SCOPED_TRACE(to_text(c));
    const MakeDevice fake = [](const RunPlan& plan, std::int32_t) {
      return std::make_unique<FakeDevice>(plan, true);
    };
    MpiSession session;
    const auto transport = make_transport(GetParam(), session);
    const RunPlan plan = fake_plan(*schedule, true, 4);
    const RunResult result = run_actor(plan, {}, fake, *transport);
    EXPECT_EQ(result.root, session.rank() == 0);
    if (!result.root) continue;
    const RunResult reference = run_in_process(fake_plan(on_one_actor(*schedule), true, 4), fake);
    EXPECT_EQ(result.parameters_sha256, reference.parameters_sha256);
    EXPECT_EQ(result.steps[3].loss, reference.steps[3].loss);
    EXPECT_EQ(result.steps[3].gradient_norm, reference.steps[3].gradient_norm);
  }
}

// Real training of what is not one route with whole microbatches.
TEST_P(OverMpi, TwoRoutesAndSlicesAreBitIdenticalToOneActor) {
  Model model = testing::text_model(testing::tiny_gpt2());
  model.layers = 8;
  for (const Pipeline& pipeline :
       {two_way(size(), 1, 6), v_pipeline(size(), 4), sliced(two_way(size(), 1, 4), {9, 7})}) {
    const Schedule schedule = list_schedule(pipeline, {.seed = 7, .split = true, .pairs = true});
    const auto parts = static_cast<std::int32_t>(pipeline.routes[0].size());
    const Split split = even_split(model, parts);
    MpiSession session;
    const auto transport = make_transport(GetParam(), session);
    const RunResult result =
        run_actor(training_plan(model, schedule, split, 4), {}, make_device, *transport);
    if (!result.root) continue;
    expect_same_bits(result, run_in_process(training_plan(model, on_one_actor(schedule), split, 4),
                                            make_device));
  }
}

// Recomputation, weight versions, windows and queues.
TEST_P(OverMpi, OtherWaysToLearnAreBitIdenticalToOneActor) {
  Model model = testing::text_model(testing::tiny_llama());
  model.layers = 4;
  const Split split = even_split(model, size());
  const auto local = [](std::map<std::string, std::string> option) {
    return generate("local", {.actors = size(), .microbatches = 6, .option = std::move(option)});
  };
  for (const Schedule& schedule :
       {with_recompute(generate("zb_h1", {.actors = size(), .microbatches = 6})),
        generate("pipedream_2bw", {.actors = size(), .microbatches = 4}),
        generate("forward_only", {.actors = size(), .microbatches = 5}),
        local({{"variant", "overlapping"}, {"aux", "mlp"}}), local({{"variant", "chunked"}}),
        local({{"variant", "ppll"}, {"capacity", "1"}, {"aux", "block"}})}) {
    SCOPED_TRACE(schedule.name);
    MpiSession session;
    const auto transport = make_transport(GetParam(), session);
    const RunPlan plan = training_plan(model, schedule, split, 4);
    const RunResult result = run_actor(plan, {}, make_device, *transport);
    if (!result.root) continue;
    const RunResult one =
        run_in_process(training_plan(model, on_one_actor(schedule), split, 4), make_device);
    expect_same_bits(result, one);
    EXPECT_EQ(result.steps[3].window_losses, one.steps[3].window_losses);
    const Metrics measured = measure(result.measured);
    const Metrics predicted =
        measure(simulate(plan.program, parse_costs("F=1,B=2,I=1,W=1,R=1,update=1", size())));
    for (std::size_t actor = 0; actor < measured.actors.size(); ++actor) {
      EXPECT_EQ(measured.actors[actor].peak_in_flight, predicted.actors[actor].peak_in_flight);
      EXPECT_EQ(measured.actors[actor].weight_versions, predicted.actors[actor].weight_versions);
    }
  }
}

TEST_P(OverMpi, FailureOfOneActorReachesEverybody) {
  MpiSession session;
  const auto transport = make_transport(GetParam(), session);
  const RunPlan plan = fake_plan(generate("1f1b", {.actors = size(), .microbatches = 4}), true, 3);
  const std::int32_t last = size() - 1;
  try {
    run_actor(
        plan, {},
        [&](const RunPlan& p, std::int32_t actor) {
          FakeFaults faults;
          if (actor == last) faults.throws_at = Op{OpKind::Backward, last, 2};
          return std::make_unique<FakeDevice>(p, true, faults);
        },
        *transport);
    FAIL() << "the run should have failed";
  } catch (const RunError& error) {
    EXPECT_EQ(std::string(error.what()), "actor " + std::to_string(last) + ": out of memory");
  }
}

TEST_P(OverMpi, DifferentPlansAreRefused) {
  MpiSession session;
  const auto transport = make_transport(GetParam(), session);
  RunPlan plan = fake_plan(generate("gpipe", {.actors = size(), .microbatches = 2}), true, 1);
  if (transport->actor() == 1) plan.train.steps = 2;
  const MakeDevice fake = [](const RunPlan& p, std::int32_t) {
    return std::make_unique<FakeDevice>(p, true);
  };
  try {
    run_actor(plan, {}, fake, *transport);
    FAIL() << "the run should have failed";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("actors 1 run another plan than actor 0"));
  }
}

TEST_P(OverMpi, WatchdogTellsWhoWaitsForWhat) {
  setenv("PENSTOCK_WATCHDOG_S", "0.3", 1);
  MpiSession session;
  unsetenv("PENSTOCK_WATCHDOG_S");
  const auto transport = make_transport(GetParam(), session);
  RunPlan plan = fake_plan(generate("1f1b", {.actors = size(), .microbatches = 2}), false, 1);
  std::vector<Action>& sender = plan.program.actions[0];
  sender.erase(std::prev(std::find_if(sender.rbegin(), sender.rend(), [](const Action& a) {
                           return a.kind == ActionKind::Send;
                         }).base()));
  const MakeDevice fake = [](const RunPlan& p, std::int32_t) {
    return std::make_unique<FakeDevice>(p, false);
  };
  try {
    run_actor(plan, {}, fake, *transport);
    FAIL() << "the run should have failed";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no actor has moved"));
    EXPECT_THAT(error.what(),
                HasSubstr("actor 1 waits at 1F1, needs the activation of 0F1 from actor 0"));
  }
}

// The sleep device takes exactly as long as it is told, so what is left is the executor's own time:
// gaps between ops, messages, wake-ups. Other programs on the machine disturb it: best of many.
TEST_P(OverMpi, SleepingActorsTakeThePredictedTime) {
  const Schedule schedule = generate("1f1b", {.actors = size(), .microbatches = 8});
  RunPlan plan;
  plan.program = lower(schedule);
  plan.batch = {.global = 8, .micro = 1, .sequence = 1};
  plan.train.steps = 3;
  plan.train.device = DeviceKind::Sleep;
  plan.costs = parse_costs("F=5,B=10,update=1", size());
  const Timeline predicted = simulate(plan.program, plan.costs);
  const double predicted_s =
      to_s(std::max_element(predicted.spans.begin(), predicted.spans.end(),
                            [](const Span& a, const Span& b) { return a.end < b.end; })
               ->end);
  double best = 1e9;
  for (int attempt = 0; attempt < 15 && best > 0.02; ++attempt) {
    MpiSession session;
    const auto transport = make_transport(GetParam(), session);
    const RunResult result = run_actor(plan, {}, make_device, *transport);
    double error = 0;
    if (result.root) {
      EXPECT_EQ(result.steps.size(), 3U);
      EXPECT_TRUE(std::isnan(result.steps[0].loss));
      EXPECT_TRUE(result.parameters_sha256.empty());
      error = result.steps[0].seconds / predicted_s - 1;
      for (const StepRecord& step : result.steps) {
        error = std::min(error, step.seconds / predicted_s - 1);
      }
      std::printf("measured %+.2f %% of the predicted %.3f ms\n", 100 * error, 1e3 * predicted_s);
    }
    MPI_Bcast(&error, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    best = std::min(best, error);
  }
  EXPECT_GE(best, -0.001);  // nothing can be faster
  EXPECT_LE(best, 0.03);
}

// Run by peer_death.sh, which looks at what the survivors print.
TEST_P(OverMpi, DISABLED_AnActorDies) {
  MpiSession session;
  const Obituary obituary(session.board(), session.names());
  const auto transport = make_transport(GetParam(), session);
  const RunPlan plan = fake_plan(generate("1f1b", {.actors = size(), .microbatches = 4}), true, 3);
  run_actor(
      plan, {},
      [&](const RunPlan& p, std::int32_t actor) {
        FakeFaults faults;
        if (actor == 1) faults.dies_at = Op{OpKind::Backward, 1, 2};
        return std::make_unique<FakeDevice>(p, true, faults);
      },
      *transport);
}

INSTANTIATE_TEST_SUITE_P(Transports, OverMpi, ::testing::Values("mpi", "window"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  int mine = RUN_ALL_TESTS();
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && mine == 0 && any != 0) std::fprintf(stderr, "another process has failed\n");
  MPI_Finalize();
  return any;
}
