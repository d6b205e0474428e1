#include "profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "gather.h"
#include "machine.h"
#include "median.h"
#include "message_probe.h"

namespace penstock {
namespace {

constexpr int kUnmeasuredSteps = 3;

// What one cost was in every measured step.
struct StageSamples {
  // [kind][slice]: means over the microbatches.
  std::array<std::vector<std::vector<Nanoseconds>>, kPassKinds> op;
  std::vector<Nanoseconds> update;
  std::vector<Nanoseconds> reduce;
};

struct Samples {
  std::vector<StageSamples> stages;
  std::vector<Nanoseconds> norm;
};

struct Sum {
  std::int64_t total = 0;  // nanoseconds, or bytes
  std::int64_t count = 0;
  void add(std::int64_t each) {
    total += each;
    ++count;
  }
  std::int64_t mean() const { return count > 0 ? total / count : 0; }
};

using Marks = std::vector<std::vector<Mark>>;  // [actor][task]

// Later slices attend to more tokens, so each has costs of its own; one for all where microbatches
// differ in their number of slices.
std::size_t slices_told_apart(const Pipeline& pipeline) {
  const std::int32_t slices = pipeline.microbatches.front().slices();
  const bool alike = std::ranges::all_of(pipeline.microbatches,
                                         [&](const Microbatch& m) { return m.slices() == slices; });
  return alike ? static_cast<std::size_t>(slices) : 1;
}

void add_ops(Samples& samples, const Program& program, const Marks& marks) {
  const std::size_t slices = slices_told_apart(program.schedule.pipeline);
  std::vector<std::array<std::vector<Sum>, kPassKinds>> sums(samples.stages.size());
  for (auto& stage : sums) stage.fill(std::vector<Sum>(slices));
  for (std::size_t a = 0; a < marks.size(); ++a) {
    for (std::size_t i = 0; i < marks[a].size(); ++i) {
      const Action& action = program.actions[a][i];
      const Mark& mark = marks[a][i];
      const auto index = static_cast<std::size_t>(action.index);
      if (action.kind == ActionKind::Update) {
        samples.stages[index].update.push_back(mark.end - mark.start);
      }
      if (action.kind != ActionKind::Compute) continue;
      const Op& op = program.computes[index].op;
      if (op.kind == OpKind::Update) {
        samples.stages[static_cast<std::size_t>(op.stage)].update.push_back(mark.end - mark.start);
        continue;
      }
      const std::size_t slice = slices == 1 ? 0 : static_cast<std::size_t>(op.slice);
      sums[static_cast<std::size_t>(op.stage)][static_cast<std::size_t>(op.kind)][slice].add(
          mark.end - mark.start);
    }
  }
  for (std::size_t s = 0; s < sums.size(); ++s) {
    for (std::size_t k = 0; k < sums[s].size(); ++k) {
      if (std::ranges::all_of(sums[s][k], [](const Sum& sum) { return sum.count == 0; })) continue;
      samples.stages[s].op[k].resize(slices);
      for (std::size_t i = 0; i < slices; ++i) {
        samples.stages[s].op[k][i].push_back(sums[s][k][i].mean());
      }
    }
  }
}

// From the last actor's entry to the last actor's leaving: what is before is waiting.
Nanoseconds collective_time(const Program& program, const Marks& marks, const Action& action) {
  Nanoseconds end = 0;
  for (std::size_t a = 0; a < marks.size(); ++a) {
    for (std::size_t i = 0; i < marks[a].size(); ++i) {
      if (program.actions[a][i] == action) end = std::max(end, marks[a][i].end);
    }
  }
  return std::max<Nanoseconds>(0, end - last_entry(program, marks, action));
}

// The exchange of norms; where they are passed along the pipeline, the longest that an actor takes
// for its own.
Nanoseconds norm_time(const Program& program, const Marks& marks) {
  if (!has_verdict(program)) {
    return collective_time(program, marks, {ActionKind::GlobalNorm, 0});
  }
  Nanoseconds longest = 0;
  for (std::size_t a = 0; a < marks.size(); ++a) {
    for (std::size_t i = 0; i < marks[a].size(); ++i) {
      if (program.actions[a][i].kind != ActionKind::PartialNorm) continue;
      longest = std::max(longest, marks[a][i].end - marks[a][i].start);
    }
  }
  return longest;
}

void add_collectives(Samples& samples, const Program& program, const Marks& marks) {
  samples.norm.push_back(exchanges_norms(program) ? norm_time(program, marks) : 0);
  // A stage has one cost for all its reductions (tied, mirrored), so it gets their mean.
  std::vector<Sum> sums(samples.stages.size());
  for (std::size_t g = 0; g < program.shared.size(); ++g) {
    const Action action{ActionKind::ReduceGradients, static_cast<std::int32_t>(g)};
    const Nanoseconds time = collective_time(program, marks, action);
    for (const std::int32_t stage : program.shared[g])
      sums[static_cast<std::size_t>(stage)].add(time);
  }
  for (std::size_t s = 0; s < sums.size(); ++s) {
    if (sums[s].count > 0) samples.stages[s].reduce.push_back(sums[s].mean());
  }
}

Samples measure_steps(const RunPlan& plan, const RunOptions& options, StepRunner& runner) {
  Samples samples{.stages = std::vector<StageSamples>(runner.stages().size()), .norm = {}};
  MeasuredStep measured;
  for (int step = 0; step < kUnmeasuredSteps + options.profile_steps; ++step) {
    runner.rehearse(measured);
    if (step < kUnmeasuredSteps) continue;
    const Marks marks = gather(runner.transport(), std::span<const Mark>(measured.marks));
    add_ops(samples, plan.program, marks);
    add_collectives(samples, plan.program, marks);
  }
  runner.finish();
  runner.device().reset_optimizer();
  return samples;
}

// From the samples of each slice.
Duration duration(std::span<const std::vector<Nanoseconds>> slices) {
  if (slices.size() == 1) return {.base = median(slices[0]), .varied = {}};
  Duration duration;
  std::vector<Nanoseconds>& row = duration.varied.emplace_back();
  for (const std::vector<Nanoseconds>& samples : slices) row.push_back(median(samples));
  return duration;
}

// Bytes of the messages behind a stage, by slice where slices are told apart: the mean over the
// microbatches that pass it.
std::vector<std::int64_t> boundary_bytes(const Pipeline& pipeline, std::int32_t stage,
                                         const Device& device) {
  std::vector<Sum> sums(slices_told_apart(pipeline));
  const std::int32_t route = route_of_stages(pipeline)[static_cast<std::size_t>(stage)];
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    if (pipeline.microbatches[m].route != route) continue;
    Op op{OpKind::Forward, stage, static_cast<std::int32_t>(m)};
    for (; op.slice < pipeline.microbatches[m].slices(); ++op.slice) {
      Sum& sum = sums[sums.size() == 1 ? 0 : static_cast<std::size_t>(op.slice)];
      sum.add(device.boundary_floats(op) * static_cast<std::int64_t>(sizeof(float)));
    }
  }
  std::vector<std::int64_t> bytes;
  for (const Sum& sum : sums) bytes.push_back(sum.mean());
  return bytes;
}

// Both directions of the boundary behind a stage, which carry the same number of bytes.
MessageCost boundary_cost(
    const Pipeline& pipeline, std::int32_t stage, std::int32_t next,
    const std::vector<std::int64_t>& bytes,
    const std::map<std::pair<std::int32_t, std::int32_t>, ProbedChannel>& probed) {
  if (next < 0) return {};
  MessageCost cost{.bytes = bytes.front()};
  const bool alike = std::ranges::all_of(bytes, [&](std::int64_t b) { return b == bytes.front(); });
  if (!alike) cost = {.varied = {bytes}};
  const std::int32_t a = pipeline.stages[static_cast<std::size_t>(stage)].actor;
  const std::int32_t b = pipeline.stages[static_cast<std::size_t>(next)].actor;
  Nanoseconds latency = 0;
  double seconds_per_byte = 0;
  int directions = 0;
  for (const auto& pair : {std::pair(a, b), std::pair(b, a)}) {
    const auto found = probed.find(pair);
    if (found == probed.end()) continue;
    latency += found->second.latency;
    if (found->second.bytes_per_s > 0) seconds_per_byte += 1 / found->second.bytes_per_s;
    ++directions;
  }
  if (directions == 0) return cost;
  cost.latency = latency / directions;
  if (seconds_per_byte > 0) cost.bytes_per_s = directions / seconds_per_byte;
  return cost;
}

}  // namespace

std::vector<Channel> probe_channels(std::span<const Channel> channels) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> largest;
  for (const Channel& channel : channels) {
    const bool tensors = channel.kind == OpKind::Forward || channel.kind == OpKind::Backward;
    if (!tensors) continue;
    std::int64_t& bytes = largest[{channel.from, channel.to}];
    bytes = std::max(bytes, channel.bytes);
  }
  std::vector<Channel> probes;
  for (const auto& [pair, bytes] : largest) {
    probes.push_back({.from = pair.first,
                      .to = pair.second,
                      .kind = OpKind::BackwardInput,
                      .bytes = bytes,
                      .pending = 1});
  }
  return probes;
}

CostTable measure_profile(const RunPlan& plan, const RunOptions& options, StepRunner& runner) {
  const Pipeline& pipeline = plan.program.schedule.pipeline;
  const Samples samples = measure_steps(plan, options, runner);
  const auto probed = probe_messages(runner.probes(), runner.transport());
  const std::vector<std::int32_t> next = next_on_route(pipeline);
  CostTable table;
  table.machine = machine_json(plan);
  table.global_norm = median(samples.norm);
  for (std::size_t s = 0; s < samples.stages.size(); ++s) {
    const StageSamples& stage = samples.stages[s];
    const StageInfo& info = runner.stages()[s];
    StageCosts costs;
    for (std::size_t k = 0; k < stage.op.size(); ++k) {
      if (!stage.op[k].empty()) costs.op[k] = duration(stage.op[k]);
    }
    if (!stage.update.empty()) costs.update = median(stage.update);
    if (!stage.reduce.empty()) costs.reduce = median(stage.reduce);
    const auto number = static_cast<std::int32_t>(s);
    costs.message = boundary_cost(pipeline, number, next[s],
                                  boundary_bytes(pipeline, number, runner.device()), probed);
    costs.activation_bytes = info.activation_bytes;
    const bool recomputes = costs.op[static_cast<std::size_t>(OpKind::Recompute)].has_value();
    if (recomputes) costs.kept_bytes = info.kept_bytes;
    costs.weight_bytes = info.weight_bytes;
    table.stages.push_back(std::move(costs));
  }
  return table;
}

}  // namespace penstock
