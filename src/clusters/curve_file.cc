#include "clusters/curve_file.h"

#include <cmath>

#include <fmt/format.h>

namespace penstock {
namespace {

// More than the peak is reached only by what a peak does not count.
constexpr double kLargestFraction = 1;

std::optional<Curve::Point> read_point(const JsonReader& reader, double unit) {
  if (!reader.is_array()) return std::nullopt;
  if (reader.size() != 2) {
    reader.problem("expected [size, fraction]");
    return std::nullopt;
  }
  const Curve::Point point = {reader.at(0).as_number({.min = 1e-9, .max = 1e9}) * unit,
                              reader.at(1).as_number({.min = 1e-6, .max = kLargestFraction})};
  return point.size > 0 && point.fraction > 0 ? std::optional(point) : std::nullopt;
}

// What is larger must not take less time: between two points f = a + s ln(size), and size / f rises
// where f >= s.
void check_next(const JsonReader& reader, const Curve::Point& before, const Curve::Point& point) {
  if (!(point.size > before.size)) {
    reader.problem("the sizes do not rise", "order the points by size");
  } else if ((point.fraction - before.fraction) / std::log(point.size / before.size) >
             before.fraction) {
    reader.problem("the fraction rises faster than the size: larger work would take less time",
                   fmt::format("lower {} or put a point between", point.fraction));
  }
}

}  // namespace

Curve read_curve(const JsonReader& object, std::string_view key, double unit) {
  Curve curve;
  const auto array = object.required(key, "an array of [size, fraction]");
  if (!array || !array->is_array()) return curve;
  if (array->size() == 0) array->problem("no points", "one point makes a constant");
  for (std::size_t i = 0; i < array->size(); ++i) {
    const JsonReader reader = array->at(i);
    const std::optional<Curve::Point> point = read_point(reader, unit);
    if (!point) continue;
    if (!curve.points.empty()) check_next(reader, curve.points.back(), *point);
    curve.points.push_back(*point);
  }
  return curve;
}

void require_source(const JsonReader& object) {
  const std::string source = object.text("source", {}, true);
  if (object.has("source") && object.value().at("source").is_string() && source.empty()) {
    object.at("source").problem("empty", "name the document that the figures come from");
  }
}

}  // namespace penstock
