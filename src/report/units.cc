#include "report/units.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace penstock {
namespace {

// Decimals that leave four significant digits.
int decimals(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return 0;
  if (size >= 100) return 1;
  return size >= 10 ? 2 : 3;
}

}  // namespace

TimeUnit time_unit(Nanoseconds largest) {
  if (largest >= 1'000'000'000) return {"s", 1e9};
  if (largest >= 1'000'000) return {"ms", 1e6};
  if (largest >= 1'000) return {"us", 1e3};
  return {"ns", 1};
}

std::string show_in(const TimeUnit& unit, Nanoseconds t, Nanoseconds largest) {
  const double most = static_cast<double>(largest) / unit.nanoseconds;
  return fmt::format("{:.{}f}", static_cast<double>(t) / unit.nanoseconds,
                     unit.nanoseconds == 1 ? 0 : decimals(most));
}

std::string show_time(Nanoseconds t) {
  const Nanoseconds size = std::abs(t);
  const TimeUnit unit = time_unit(size);
  return show_in(unit, t, size) + " " + unit.name;
}

std::string show_bytes(std::int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value,
                     unit == 0      ? 0
                     : value >= 100 ? 0
                     : value >= 10  ? 1
                                    : 2,
                     kUnits[unit]);
}

std::string show_percent(double ratio) {
  return fmt::format("{:.1f} %", 100 * ratio);
}

std::string show_difference(double percent) {
  return fmt::format("{:+.1f} %", percent == 0 ? 0.0 : percent);
}

std::string show_points(double difference) {
  const double points = std::round(1000 * difference) / 10;
  return fmt::format("{:+.1f} points", points == 0 ? 0.0 : points);
}

std::string show_number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace penstock
