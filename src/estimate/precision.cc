#include <algorithm>
#include <array>

#include "penstock/estimate.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"fp32", "fp16", "bf16", "fp8"};

}  // namespace

std::string_view name(Precision precision) {
  return kNames[static_cast<std::size_t>(precision)];
}

std::optional<Precision> parse_precision(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Precision>(found - kNames.begin());
}

StateBytes usual_state(Precision precision) {
  switch (precision) {
    case Precision::Fp32:
      return kFp32State;
    case Precision::Fp16:
      return kFp16State;
    case Precision::Bf16:
    case Precision::Fp8:
      return kBf16State;
  }
  return {};
}

}  // namespace penstock
