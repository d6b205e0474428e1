#include "clusters/link_file.h"

#include <string_view>

#include "clusters/curve_file.h"

namespace penstock {
namespace {

constexpr double kLongestUs = 1e6;

Nanoseconds microseconds(const JsonReader& object, std::string_view key) {
  return from_ms(object.number(key, {.required = true, .max = kLongestUs}) * 1e-3);
}

LinkUse read_use(const JsonReader& object, bool has_steps) {
  LinkUse use;
  if (has_steps) {
    object.only({"start_us", "step_us", "achieved_by_mb", "source"});
  } else {
    object.only({"start_us", "achieved_by_mb", "source"});
  }
  if (!object.is_object()) return use;
  require_source(object);
  use.start = microseconds(object, "start_us");
  if (has_steps) use.step = microseconds(object, "step_us");
  use.achieved = read_curve(object, "achieved_by_mb", 1e6);
  return use;
}

std::optional<LinkUse> optional_use(const JsonReader& object, std::string_view key) {
  return object.has(key) ? std::optional(read_use(object.at(key), true)) : std::nullopt;
}

}  // namespace

Link read_link(const JsonReader& object) {
  Link link;
  if (!object.is_object()) return link;
  require_source(object);
  link.bytes_per_s = object.number("gb_per_s", {.required = true, .min = 1e-6, .max = 1e6}) * 1e9;
  link.latency = microseconds(object, "latency_us");
  if (const auto use = object.required("message", "how a message uses the link")) {
    link.message = read_use(*use, false);
  }
  if (const auto use = object.required("collective", "how collectives use the link")) {
    link.collective = read_use(*use, true);
  }
  link.tree = optional_use(object, "tree");
  link.in_switch = optional_use(object, "in_switch");
  return link;
}

}  // namespace penstock
