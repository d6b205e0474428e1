// File: slices.h. Token slices of the microbatches that a generator makes.
#pragma once

#include <cstdint>

#include "penstock/generate.h"

namespace penstock {

// How many slices each microbatch has: --slices, or as many as --option tokens= gives.
std::int32_t slice_count(const GenerateOptions& options);

// Sets Microbatch::slice_tokens of all: the lengths that --option tokens= gives; else as equal as
// can be, the first ones longer, where the length of a sequence is known; else 1 each. Throws Error
// when they do not add up to the sequence, are not as many as --slices, or are more than its
// tokens.
void set_slices(Pipeline& pipeline, const GenerateOptions& options);

}  // namespace penstock
