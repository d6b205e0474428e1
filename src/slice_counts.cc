#include "penstock/slice_counts.h"

#include <algorithm>

namespace penstock {

std::vector<std::int32_t> slice_counts(const Pipeline& pipeline) {
  const std::vector<Microbatch>& all = pipeline.microbatches;
  const bool sliced =
      std::any_of(all.begin(), all.end(), [](const Microbatch& m) { return m.slices() > 1; });
  std::vector<std::int32_t> counts;
  if (!sliced) return counts;
  for (const Microbatch& microbatch : all) counts.push_back(microbatch.slices());
  return counts;
}

}  // namespace penstock
