#include <algorithm>
#include <cmath>

#include "penstock/cluster.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, kArithmetics> kArithmeticNames = {"fp32", "tf32", "bf16",
                                                                         "fp16", "fp8"};
constexpr std::array<std::string_view, kWorks> kWorkNames = {
    "forward", "input_gradient", "weight_gradient", "attention", "memory"};

}  // namespace

std::string_view name(Arithmetic arithmetic) {
  return kArithmeticNames[static_cast<std::size_t>(arithmetic)];
}

std::optional<Arithmetic> parse_arithmetic(std::string_view text) {
  const auto found = std::find(kArithmeticNames.begin(), kArithmeticNames.end(), text);
  if (found == kArithmeticNames.end()) return std::nullopt;
  return static_cast<Arithmetic>(found - kArithmeticNames.begin());
}

std::string_view name(Work work) {
  return kWorkNames[static_cast<std::size_t>(work)];
}

double Curve::at(double size) const {
  const auto above = std::lower_bound(points.begin(), points.end(), size,
                                      [](const Point& p, double value) { return p.size < value; });
  if (above == points.begin()) return points.front().fraction;
  if (above == points.end()) return points.back().fraction;
  const Point& below = *(above - 1);
  const double part = std::log(size / below.size) / std::log(above->size / below.size);
  return below.fraction + part * (above->fraction - below.fraction);
}

double DeviceType::fraction(Work work, Arithmetic arithmetic, double size) const {
  const auto w = static_cast<std::size_t>(work);
  const Curve& own = own_efficiency[w][static_cast<std::size_t>(arithmetic)];
  return (own.points.empty() ? efficiency[w] : own).at(size);
}

}  // namespace penstock
