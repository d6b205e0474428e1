#include "order_updates.h"

#include "penstock/index.h"

namespace penstock {

OrderUpdates::OrderUpdates(const Program& program)
    : scales_(program.schedule.pipeline.stages.size()) {
  const std::vector<Microbatch>& microbatches = program.schedule.pipeline.microbatches;
  double all = 0;
  for (const Microbatch& microbatch : microbatches) all += microbatch.sequences;
  // [stage]: of the microbatches that pass it and no update has applied yet.
  std::vector<std::vector<double>> sequences(scales_.size(),
                                             std::vector<double>(microbatches.size(), 0));
  for (const Compute& compute : program.computes) {
    const auto m = index(compute.op.microbatch);
    if (compute.op.kind != OpKind::Forward) continue;
    sequences[index(compute.op.stage)][m] = microbatches[m].sequences;
  }
  for (const Compute& compute : program.computes) {
    if (compute.op.kind != OpKind::Update) continue;
    const auto stage = index(compute.op.stage);
    double applied = 0;
    for (std::size_t m = 0; m <= index(compute.op.microbatch); ++m) {
      applied += sequences[stage][m];
      sequences[stage][m] = 0;
    }
    scales_[stage].push_back(applied > 0 ? all / applied : 0);
  }
}

}  // namespace penstock
