#include "jitter.h"

namespace penstock {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit changes every output bit.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t pair(std::int32_t high, std::int32_t low) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 |
         static_cast<std::uint32_t>(low);
}

}  // namespace

double jitter_of(std::uint64_t seed, const Op& op) {
  const std::uint64_t where = mixed(seed) ^ pair(op.stage, op.microbatch);
  const std::uint64_t bits =
      mixed(mixed(where) ^ pair(static_cast<std::int32_t>(op.kind), op.slice));
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace penstock
