// A prediction from an experiment's sizes: schedule, estimated costs, simulation, metrics. GPT-3
// 175B on 1,024 devices takes 0.2 s at most.
#include <benchmark/benchmark.h>

#include "penstock/estimate.h"
#include "penstock/files.h"
#include "penstock/generate.h"
#include "penstock/metrics.h"
#include "penstock/program.h"
#include "penstock/simulate.h"

namespace penstock {
namespace {

void predict(benchmark::State& state) {
  const Model model = read_model(read_file(CONFIGS "/models/gpt3-175b.json"), "gpt3-175b");
  const Cluster cluster = read_cluster(read_file(CONFIGS "/clusters/h100-dgx.json"), "h100-dgx");
  const Parallel parallel = {.pipeline = 8,
                             .chunks = 6,
                             .tensor = 4,
                             .sequence = true,
                             .data = static_cast<std::int32_t>(state.range(0)) / 32,
                             .zero = 1};
  const EstimateInput input = {
      .model = &model, .cluster = &cluster, .parallel = parallel, .sequences = 2, .tokens = 2048};
  for (auto _ : state) {
    Schedule schedule =
        generate("interleaved_1f1b", {.actors = 8, .chunks = 6, .microbatches = 32});
    const Estimate estimated = estimate(input, schedule, even_split(model, 48));
    const Metrics metrics = measure(simulate(lower(std::move(schedule)), estimated.costs));
    benchmark::DoNotOptimize(metrics.makespan);
  }
}
BENCHMARK(predict)->ArgName("devices")->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
