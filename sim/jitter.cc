#include "jitter.h"

#include "split_mix.h"

namespace penstock {
namespace {

std::uint64_t pair(std::int32_t high, std::int32_t low) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 |
         static_cast<std::uint32_t>(low);
}

}  // namespace

double jitter_of(std::uint64_t seed, const Op& op) {
  const std::uint64_t where = split_mix(seed) ^ pair(op.stage, op.microbatch);
  const std::uint64_t bits =
      split_mix(split_mix(where) ^ pair(static_cast<std::int32_t>(op.kind), op.slice));
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace penstock
