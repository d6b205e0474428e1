#include "memory_need.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "batch_shape.h"
#include "device/slots.h"
#include "gather.h"
#include "penstock/error.h"

namespace penstock {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

double free_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  double kib = 0;
  for (std::string unit; file >> key >> kib; std::getline(file, unit)) {
    if (key == "MemAvailable:") return 1024 * kib;
  }
  return std::numeric_limits<double>::max();  // unknown
}

// Parameters of the blocks [first, end).
double parameters_of(const Model& model, std::int32_t first, std::int32_t end) {
  double sum = 0;
  for (const ModelTensor& tensor : model_tensors(model)) {
    if (tensor.block >= first && tensor.block < end) sum += static_cast<double>(tensor.size());
  }
  return sum;
}

Slots slots_of(const Program& program, std::int32_t stage) {
  std::vector<Op> ops;
  for (const Compute& compute : program.computes) {
    if (compute.op.stage == stage) ops.push_back(compute.op);
  }
  return share_out(ops, Units(program.schedule.pipeline));
}

}  // namespace

double least_bytes(const RunPlan& plan, std::int32_t actor) {
  if (!plan.model || plan.train.device == DeviceKind::Sleep) return 0;
  const std::vector<Stage>& stages = plan.program.schedule.pipeline.stages;
  double rows = 0;  // of the largest slice, which every buffer has to fit
  for (const TokenSlice& slice : batch_shape(plan)) {
    rows = std::max(rows, 1.0 * slice.sequences * slice.tokens);
  }
  const double boundary = rows * plan.model->hidden;
  double floats = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].actor != actor) continue;
    const auto part = static_cast<std::size_t>(stages[s].part);
    const std::int32_t first = plan.split.first[part];
    const std::int32_t end = plan.split.first[part + 1];
    const double copies = keeps_a_copy(plan.program, actor) ? 7 : 4;
    floats += copies * parameters_of(*plan.model, first, end);
    const Slots slots = slots_of(plan.program, static_cast<std::int32_t>(s));
    const bool remakes = slots.remade_count > 0 && plan.recompute == RecomputeChoice::Full;
    const double outputs = remakes ? slots.remade_count : slots.kept_count;
    floats += outputs * (end - first) * boundary;
  }
  return floats * sizeof(float);
}

void require_memory(const RunPlan& plan, Transport& transport) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::vector<std::string> hosts = gather_text(transport, name.data());
  const std::vector<double> needs = gather_one(transport, least_bytes(plan, transport.actor()));
  const std::vector<double> free = gather_one(transport, free_bytes());
  for (std::size_t first = 0; first < hosts.size(); ++first) {
    double need = 0;
    for (std::size_t a = first; a < hosts.size(); ++a) {
      if (hosts[a] == hosts[first]) need += needs[a];
    }
    if (need <= free[first]) continue;
    throw Error("model",
                fmt::format("the run needs {:.1f} GiB of memory or more on {}, {:.1f} GiB are free",
                            need / kGiB, hosts[first], free[first] / kGiB),
                "a smaller model or batch.micro");
  }
}

}  // namespace penstock
