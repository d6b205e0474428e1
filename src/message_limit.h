// File: message_limit.h. Refuses messages that no channel can carry in a sensible time.
#pragma once

#include <optional>
#include <string>

#include "penstock/costs.h"

namespace penstock {

// A message that occupies its channel for longer than kLongestMs is a mistake of units.
std::optional<Problem> too_slow(const MessageCost& message, const std::string& where);

}  // namespace penstock
