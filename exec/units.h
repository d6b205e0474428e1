// File: units.h. One number for every slice of every microbatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "penstock/op.h"
#include "penstock/pipeline.h"

namespace penstock {

// 0, 1, ..: microbatch by microbatch, slice by slice.
class Units {
 public:
  explicit Units(const Pipeline& pipeline) : first_{0} {
    for (const Microbatch& microbatch : pipeline.microbatches) {
      first_.push_back(first_.back() + static_cast<std::size_t>(microbatch.slices()));
    }
  }

  std::size_t count() const { return first_.back(); }
  std::size_t of(std::int32_t microbatch, std::int32_t slice) const {
    return first_[static_cast<std::size_t>(microbatch)] + static_cast<std::size_t>(slice);
  }
  std::size_t of(const Op& op) const { return of(op.microbatch, op.slice); }
  std::int32_t slices(std::int32_t microbatch) const {
    return static_cast<std::int32_t>(of(microbatch + 1, 0) - of(microbatch, 0));
  }

 private:
  std::vector<std::size_t> first_;  // [microbatch], and the count
};

}  // namespace penstock
