// File: costs_limits.h. Refuses costs that no pipeline can have.
#pragma once

#include <optional>
#include <string>

#include "penstock/costs.h"

namespace penstock {

// Of a message, an activation, or the weights of a stage.
inline constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;

// A message that occupies its channel for longer than kLongestMs is a mistake of units.
std::optional<Problem> too_slow(const MessageCost& message, const std::string& where);

// An input gradient leaves no more of an activation than there is.
std::optional<Problem> too_much_left(const StageCosts& costs, const std::string& where);

}  // namespace penstock
