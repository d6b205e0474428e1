#include "run.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "actor_plan.h"
#include "gather.h"
#include "interpreter.h"
#include "measured.h"
#include "memory_need.h"
#include "profile.h"
#include "run_digest.h"
#include "step_end.h"
#include "step_runner.h"

namespace penstock {
namespace {

constexpr std::size_t kKeptSteps = 100;  // whose marks are kept, the latest ones
constexpr std::size_t kWarmupSteps = 3;  // not counted when the median step is chosen

void compare_plans(const RunPlan& plan, const RunOptions& options, Transport& transport) {
  const std::vector<std::string> digests = gather_text(transport, plan_digest(plan, options));
  std::vector<std::size_t> different;
  for (std::size_t a = 1; a < digests.size(); ++a) {
    if (digests[a] != digests[0]) different.push_back(a);
  }
  if (different.empty()) return;
  throw RunError("start-up",
                 fmt::format("actors {} run another plan than actor 0", fmt::join(different, ", ")),
                 "start every process with the same files and options");
}

std::vector<StageInfo> gather_stages(const RunPlan& plan, const Device& device,
                                     Transport& transport) {
  const std::vector<Stage>& stages = plan.program.schedule.pipeline.stages;
  std::vector<StageInfo> mine(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].actor != transport.actor()) continue;
    const auto stage = static_cast<std::int32_t>(s);
    mine[s] = {.activation_bytes = device.activation_bytes(stage),
               .kept_bytes = device.kept_bytes(stage),
               .left_bytes = device.left_bytes(stage),
               .weight_bytes = device.weight_bytes(stage)};
  }
  const auto all = gather(transport, std::span<const StageInfo>(mine));
  for (std::size_t s = 0; s < stages.size(); ++s) {
    mine[s] = all[static_cast<std::size_t>(stages[s].actor)][s];
  }
  return mine;
}

std::string gather_digest(const RunPlan& plan, const Device& device, Transport& transport) {
  const std::vector<Stage>& stages = plan.program.schedule.pipeline.stages;
  std::string lines;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].actor != transport.actor()) continue;
    lines += digest_lines(device.parameters(static_cast<std::int32_t>(s)));
  }
  return parameters_digest(gather_text(transport, lines));
}

// The step whose time is the median of those after the warm-up whose marks are still kept.
std::size_t median_step(std::span<const StepRecord> steps) {
  std::size_t first = steps.size() > kKeptSteps ? steps.size() - kKeptSteps : 0;
  if (steps.size() > kWarmupSteps) first = std::max(first, kWarmupSteps);
  std::vector<std::size_t> order(steps.size() - first);
  std::iota(order.begin(), order.end(), first);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(steps[a].seconds, a) < std::pair(steps[b].seconds, b);
  });
  return order[(order.size() - 1) / 2];
}

RunResult run_steps(const RunPlan& plan, const RunOptions& options, StepRunner& runner,
                    Device& device, Transport& transport) {
  const bool root = transport.actor() == 0;
  RunResult result;
  if (options.profile_steps > 0) result.profile = measure_profile(plan, options, runner);
  const Traffic before = runner.traffic();
  const auto steps = static_cast<std::size_t>(plan.train.steps);
  std::vector<MeasuredStep> kept(std::min(steps, kKeptSteps));
  const auto add = [&](const std::optional<StepRecord>& record) {
    if (!record) return;
    result.steps.push_back(*record);
    if (root && options.on_step) options.on_step(*record);
  };
  for (std::size_t step = 0; step < steps; ++step) {
    add(runner.run(static_cast<std::int64_t>(step), kept[step % kept.size()]));
  }
  add(runner.finish());
  const Traffic after = runner.traffic();
  result.traffic = gather_one(
      transport, Traffic{.bytes_sent = after.bytes_sent - before.bytes_sent,
                         .messages_sent = after.messages_sent - before.messages_sent,
                         .bytes_resent = after.bytes_resent - before.bytes_resent,
                         .messages_resent = after.messages_resent - before.messages_resent});
  result.parameters_sha256 = gather_digest(plan, device, transport);
  if (steps > 0) {
    // The root's choice: where steps overlap, everybody has measured its own.
    result.median_step = gather_one(transport, median_step(result.steps)).front();
    const MeasuredStep& step = kept[result.median_step % kept.size()];
    const auto marks = gather(transport, std::span<const Mark>(step.marks));
    const auto begins = gather_one(transport, step.begin);
    result.measured = measured_timeline(plan, runner.stages(), runner.messages(), marks,
                                        *std::min_element(begins.begin(), begins.end()));
    if (has_verdict(plan.program)) {
      result.measured.period = std::llround(result.steps[result.median_step].seconds * 1e9);
    }
  }
  if (root) return result;
  RunResult nothing;
  nothing.root = false;
  return nothing;
}

// Clipping takes the norm of all stages' gradients.
void refuse_clipping(const RunPlan& plan, std::vector<Problem>& problems) {
  const bool computes = plan.model && plan.train.device != DeviceKind::Sleep;
  if (!computes || !learns(plan.program) || exchanges_norms(plan.program)) return;
  if (plan.train.optimizer.clip <= 0) return;
  problems.push_back({"train.optimizer.clip",
                      "gradients are clipped by the norm over all stages, but each stage updates "
                      "without the others",
                      "set train.optimizer.clip to 0"});
}

RunResult start(const RunPlan& plan, const RunOptions& options, const MakeDevice& make_device,
                Transport& transport) {
  std::vector<Problem> problems = executable_problems(plan.program);
  refuse_clipping(plan, problems);
  if (plan.program.schedule.pipeline.actors != transport.actors()) {
    problems.push_back({plan.program.schedule.name,
                        fmt::format("the schedule has {} actors, the run {}",
                                    plan.program.schedule.pipeline.actors, transport.actors()),
                        ""});
  }
  if (!problems.empty()) throw Error(std::move(problems));
  compare_plans(plan, options, transport);
  require_memory(plan, transport);
  const std::unique_ptr<Device> device = make_device(plan, transport.actor());
  StepRunner runner(plan, options, gather_stages(plan, *device, transport), *device, transport);
  return run_steps(plan, options, runner, *device, transport);
}

}  // namespace

RunResult run_actor(const RunPlan& plan, const RunOptions& options, const MakeDevice& make_device,
                    Transport& transport) {
  try {
    return start(plan, options, make_device, transport);
  } catch (const Error& error) {
    transport.fail(error);
    throw;
  } catch (const std::bad_alloc&) {
    const RunError failure(fmt::format("actor {}", transport.actor()), "not enough memory");
    transport.fail(failure);
    throw failure;
  } catch (const std::exception& error) {
    const RunError failure(fmt::format("actor {}", transport.actor()), error.what());
    transport.fail(failure);
    throw failure;
  }
}

std::unique_ptr<Device> make_device(const RunPlan& plan, std::int32_t actor) {
  const bool sleeps = !plan.model || plan.train.device == DeviceKind::Sleep;
  return sleeps ? make_sleep_device(plan, actor) : make_cpu_device(plan, actor);
}

}  // namespace penstock
