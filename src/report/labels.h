// File: labels.h. What a span, a transfer and a timeline are called, in files and on screens.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "penstock/timeline.h"

namespace penstock {

// "3F5" for an op; "reduce 3", "norm", "own norm", "verdict", "update 3" for what ends a step.
std::string label(const Span& span);
// "activation 3F5" or "gradient 3B5": what is sent and the op that made it.
std::string label(const Transfer& transfer);
// "predicted", "measured", "imported".
std::string_view name(TimelineSource source);
// "4 actors, 1 microbatch".
std::string sizes(const Timeline& timeline);

// The colours and groups of spans, in the order of reports and of the page's KIND_NAMES: the op
// kinds, then what ends a step. kind_index(span) is the place in it.
inline constexpr std::array<std::string_view, kOpKinds + 4> kSpanKinds = {
    "F", "B", "I", "W", "R", "U", "reduce", "norm", "update", "verdict"};
std::size_t kind_index(const Span& span);

}  // namespace penstock
