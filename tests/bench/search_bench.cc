// The search at the size of a large pipeline: p actors, m microbatches, uneven stages, hops, and as
// many microbatches in flight as actors. Counters: the gap to its lower bound in percent.
#include <benchmark/benchmark.h>

#include "penstock/search.h"

namespace penstock {
namespace {

// Stages differ by up to a third; hops take a tenth of a forward.
CostTable uneven_costs(std::int32_t stages) {
  CostTable costs;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const Nanoseconds unit = 850'000 + (stage * 7919) % 10 * 33'000;
    StageCosts one;
    one.op[static_cast<std::size_t>(OpKind::Forward)] = Duration{.base = unit};
    one.op[static_cast<std::size_t>(OpKind::BackwardInput)] = Duration{.base = unit * 11 / 10};
    one.op[static_cast<std::size_t>(OpKind::BackwardWeight)] = Duration{.base = unit * 9 / 10};
    one.message.latency = 100'000;
    costs.stages.push_back(std::move(one));
  }
  return costs;
}

void Searched(benchmark::State& state) {
  const auto actors = static_cast<std::int32_t>(state.range(0));
  const auto chunks = static_cast<std::int32_t>(state.range(1));
  const SearchOptions options{.actors = actors,
                              .chunks = chunks,
                              .microbatches = static_cast<std::int32_t>(state.range(2)),
                              .in_flight = {static_cast<double>(actors)}};
  const CostTable costs = uneven_costs(actors * chunks);
  double gap = 0;
  for (auto _ : state) gap = search(costs, options).gap();
  state.counters["gap_percent"] = 100 * gap;
}

BENCHMARK(Searched)
    ->ArgNames({"p", "v", "m"})
    ->Args({16, 1, 64})
    ->Args({16, 2, 64})
    ->Args({8, 1, 32})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
