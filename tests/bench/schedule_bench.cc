// Ops per second of making, checking and lowering a schedule.
#include <benchmark/benchmark.h>

#include "penstock/check.h"
#include "penstock/deadlock.h"
#include "penstock/generate.h"
#include "penstock/program.h"

namespace penstock {
namespace {

GenerateOptions sizes(const benchmark::State& state) {
  return {.actors = static_cast<std::int32_t>(state.range(0)),
          .microbatches = static_cast<std::int32_t>(state.range(1))};
}

void count_ops(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * 2 * state.range(0) * state.range(1));
}

void generate_1f1b(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(generate("1f1b", sizes(state)));
  count_ops(state);
}

void check_1f1b(benchmark::State& state) {
  const Schedule schedule = generate("1f1b", sizes(state));
  for (auto _ : state) benchmark::DoNotOptimize(check(schedule));
  count_ops(state);
}

void lower_1f1b(benchmark::State& state) {
  const Schedule schedule = generate("1f1b", sizes(state));
  for (auto _ : state) benchmark::DoNotOptimize(lower(schedule));
  count_ops(state);
}

void all_three_1f1b(benchmark::State& state) {
  for (auto _ : state) {
    Schedule schedule = generate("1f1b", sizes(state));
    benchmark::DoNotOptimize(check(schedule));
    benchmark::DoNotOptimize(lower(std::move(schedule)));
  }
  count_ops(state);
}

void transports_1f1b(benchmark::State& state) {
  const Program program =
      lower(generate("1f1b", sizes(state)), {.placement = MessagePlacement::Naive});
  for (auto _ : state) {
    for (const TransportRow& transport : transport_kinds()) {
      benchmark::DoNotOptimize(check_transport(program, transport.kind));
    }
  }
  count_ops(state);
}

void usual_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({8, 64})->Args({64, 1024})->Unit(benchmark::kMicrosecond);
}

BENCHMARK(generate_1f1b)->Apply(usual_sizes);
BENCHMARK(check_1f1b)->Apply(usual_sizes);
BENCHMARK(lower_1f1b)->Apply(usual_sizes);
BENCHMARK(all_three_1f1b)->Apply(usual_sizes);
BENCHMARK(transports_1f1b)->Apply(usual_sizes);

}  // namespace
}  // namespace penstock
