#include "model/random.h"

#include <cmath>
#include <numbers>

namespace penstock {

namespace {

struct Product {
  std::uint32_t high;
  std::uint32_t low;
};

Product multiply(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t product = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(product >> 32), static_cast<std::uint32_t>(product)};
}

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

// SplitMix64's output function: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// In (0, 1): never 0, whose logarithm is infinite.
double uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const Product a = multiply(0xD2511F53, counter[0]);
    const Product b = multiply(0xCD9E8D57, counter[2]);
    counter = {b.high ^ counter[1] ^ key[0], b.low, a.high ^ counter[3] ^ key[1], a.low};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

NormalStream::NormalStream(std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = mix(hash(name) + mix(seed + 0x9e3779b97f4a7c15));
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::array<double, 2> NormalStream::pair(std::uint64_t pair) const {
  const auto bits = philox(
      {static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), 0, 0}, key_);
  const double radius = std::sqrt(-2 * std::log(uniform(bits[0], bits[1])));
  const double angle = 2 * std::numbers::pi * uniform(bits[2], bits[3]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace penstock
