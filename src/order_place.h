// File: order_place.h. Where a step stands in a schedule file.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/schedule.h"

namespace penstock {

// The entry of the actor's order that holds the step: a pair is one entry of two steps.
std::int32_t order_entry(const std::vector<Step>& order, std::int32_t position);

// "mine.json:/order/2/7", or "/order/2/7" without a source.
std::string order_place(const std::string& source, const Schedule& schedule, std::int32_t actor,
                        std::int32_t position);

// The same for any pointer: "mine.json:/stages/3".
std::string place(const std::string& source, const std::string& pointer);

}  // namespace penstock
