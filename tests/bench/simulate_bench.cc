// The simulator's speed beside a lower bound. 1F1B, p actors, m microbatches, F=1, B=2, latency
// 0.1.
//
// items: ops for the sweeps, ops and messages for the engine.
#include <algorithm>
#include <sys/resource.h>

#include <benchmark/benchmark.h>

#include "penstock/check.h"
#include "penstock/generate.h"
#include "penstock/metrics.h"
#include "penstock/program.h"
#include "penstock/simulate.h"

namespace penstock {
namespace {

Schedule schedule_of(const benchmark::State& state) {
  return generate("1f1b", {.actors = static_cast<std::int32_t>(state.range(0)),
                           .microbatches = static_cast<std::int32_t>(state.range(1))});
}

CostTable costs_of(const benchmark::State& state) {
  return parse_costs("F=1,B=2,latency=0.1", static_cast<std::int32_t>(state.range(0)));
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void count(benchmark::State& state, std::size_t items) {
  state.SetItemsProcessed(static_cast<std::int64_t>(items) * state.iterations());
}

// Lower bound: the longest path with everything known beforehand, two predecessors per op in an
// array, a duration each; nothing else is looked up or kept.
struct BareOp {
  std::int32_t lane_before;  // index of the actor's op before; 0: a sentinel that ends at 0
  std::int32_t input;        // index of the op it awaits; 0: none
  Nanoseconds duration;
  Nanoseconds latency;
};

std::vector<BareOp> bare_ops(const Program& program, const CostTable& costs) {
  std::vector<BareOp> ops(1, BareOp{0, 0, 0, 0});
  std::vector<std::int32_t> last(program.actions.size(), 0);
  for (const Compute& compute : program.computes) {
    std::int32_t input = 0;
    Nanoseconds latency = 0;
    if (compute.awaits >= 0) {
      input = program.messages[static_cast<std::size_t>(compute.awaits)].producer + 1;
      latency = costs.stages[0].message.latency;
    }
    std::int32_t& before = last[static_cast<std::size_t>(compute.actor)];
    ops.push_back({before, input, costs.duration(compute.op), latency});
    before = static_cast<std::int32_t>(ops.size()) - 1;
  }
  return ops;
}

void LowerBound(benchmark::State& state) {
  const CostTable costs = costs_of(state);
  const std::vector<BareOp> ops = bare_ops(lower(schedule_of(state)), costs);
  std::vector<Nanoseconds> end(ops.size(), 0);
  for (auto _ : state) {
    Nanoseconds makespan = 0;
    for (std::size_t i = 1; i < ops.size(); ++i) {
      const BareOp& op = ops[i];
      const Nanoseconds start = std::max(end[static_cast<std::size_t>(op.lane_before)],
                                         end[static_cast<std::size_t>(op.input)] + op.latency);
      end[i] = start + op.duration;
      makespan = std::max(makespan, end[i]);
    }
    benchmark::DoNotOptimize(makespan);
  }
  count(state, ops.size() - 1);
}

void Sweep(benchmark::State& state) {
  const Program program = lower(schedule_of(state));
  const CostTable costs = costs_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(sweep_makespan(program, costs));
  count(state, program.computes.size());
}

void Engine(benchmark::State& state, P2p mode) {
  const auto placement =
      mode == P2p::Blocking ? MessagePlacement::Paired : MessagePlacement::Linear;
  const Program program = lower(schedule_of(state), {.placement = placement});
  const CostTable costs = costs_of(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate(program, costs, {.p2p = mode}).spans.data());
  }
  count(state, program.computes.size() + program.messages.size());
}

void Measure(benchmark::State& state) {
  const Program program = lower(schedule_of(state));
  const Timeline timeline = simulate(program, costs_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(measure(timeline).makespan);
  count(state, timeline.spans.size() + timeline.transfers.size());
}

void CriticalPath(benchmark::State& state) {
  const Program program = lower(schedule_of(state));
  const Timeline timeline = simulate(program, costs_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(critical_path(timeline).data());
  count(state, timeline.spans.size() + timeline.transfers.size());
}

// All that a planner does for one candidate; items are candidates.
void Evaluate(benchmark::State& state, bool events) {
  const CostTable costs = costs_of(state);
  for (auto _ : state) {
    Schedule schedule = schedule_of(state);
    if (!check(schedule).empty()) state.SkipWithError("the schedule is wrong");
    const Program program = lower(std::move(schedule));
    benchmark::DoNotOptimize(events ? measure(simulate(program, costs)).makespan
                                    : sweep_makespan(program, costs));
  }
  count(state, 1);
  state.counters["peak_rss_mb"] = peak_rss_mb();
}

void large(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"p", "m"})->Args({64, 1024})->Args({8, 64})->Unit(benchmark::kMicrosecond);
}

// First, so that its peak memory is its own.
BENCHMARK_CAPTURE(Evaluate, simulate, true)->Apply(large);
BENCHMARK_CAPTURE(Evaluate, sweep, false)->Apply(large);
BENCHMARK(LowerBound)->Apply(large);
BENCHMARK(Sweep)->Apply(large);
BENCHMARK_CAPTURE(Engine, async, P2p::Async)->Apply(large);
BENCHMARK_CAPTURE(Engine, single_stream, P2p::SingleStream)->Apply(large);
BENCHMARK_CAPTURE(Engine, blocking, P2p::Blocking)->Apply(large);
BENCHMARK(Measure)->Apply(large);
BENCHMARK(CriticalPath)->Apply(large);

}  // namespace
}  // namespace penstock
