// File: lowering.h. The lowering policies by name: what `--lowering` takes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "penstock/program.h"

namespace penstock {

struct LoweringPolicy {
  std::string_view name;
  MessagePlacement placement;
  std::string_view summary;  // one line
  // Moves the transfers of a program that was written along the linear order: lower() calls it.
  // nullptr: they stay.
  void (*place)(Program&);
};

// Every policy, the default first. Static; thread-safe.
//   for (const LoweringPolicy& policy : lowering_policies()) {
//     Program program = lower(schedule, {.placement = policy.placement});
//   }
std::span<const LoweringPolicy> lowering_policies();

// "linear", "paired", "deferred", "naive".
std::optional<MessagePlacement> parse_lowering(std::string_view text);

}  // namespace penstock
