#include "penstock/slice_counts.h"

namespace penstock {

std::vector<std::int32_t> slice_counts(const Pipeline& pipeline) {
  std::vector<std::int32_t> counts;
  if (!is_sliced(pipeline)) return counts;
  for (const Microbatch& microbatch : pipeline.microbatches) counts.push_back(microbatch.slices());
  return counts;
}

}  // namespace penstock
