// File: units.h. Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/costs.h"

namespace penstock {

// Four significant digits in the unit that fits: "850 ns", "12.35 us", "117.0 ms", "4.200 s".
std::string show_time(Nanoseconds t);

// One unit for a column of times, chosen by the largest.
struct TimeUnit {
  std::string name;        // "ns", "us", "ms", "s"
  double nanoseconds = 1;  // of one unit
};
TimeUnit time_unit(Nanoseconds largest);
// Without the unit's name, with as many decimals as four digits of the largest leave: "12.30".
std::string show_in(const TimeUnit& unit, Nanoseconds t, Nanoseconds largest);

// "512 B", "1.50 MiB".
std::string show_bytes(std::int64_t bytes);

// "81.2 %" of a ratio.
std::string show_percent(double ratio);
// "+1.1 %", "-0.3 %" of a difference in per cent.
std::string show_difference(double percent);
// "-6.3 points" of the difference of two ratios, -0.063.
std::string show_points(double difference);

// "8", "3.5", "2.67": no decimals that say nothing.
std::string show_number(double value);

}  // namespace penstock
