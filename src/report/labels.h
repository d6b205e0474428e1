// File: labels.h. What a span, a transfer and a timeline are called, in files and on screens.
#pragma once

#include <string>
#include <string_view>

#include "penstock/timeline.h"

namespace penstock {

// "3F5" for an op; "reduce 3", "norm", "update 3" for what ends a step.
std::string label(const Span& span);
// "activation 3F5" or "gradient 3B5": what is sent and the op that made it.
std::string label(const Transfer& transfer);
// "predicted", "measured", "imported".
std::string_view name(TimelineSource source);

// The colour and group of a span: "F", "B", "I", "W" for ops, else "reduce", "norm", "update".
std::string_view kind_name(const Span& span);

// Whether a span is work (busy) or an exchange that the others wait in.
constexpr bool is_collective(ActionKind kind) {
  return kind == ActionKind::ReduceGradients || kind == ActionKind::GlobalNorm;
}

}  // namespace penstock
