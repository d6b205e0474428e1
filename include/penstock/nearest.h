// File: nearest.h. "Did you mean": the hint for a misspelt name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

// The candidate with the smallest edit distance to `word`, or "" when none is close (distance over
// a third of the longer length, at least 1 allowed). Case is ignored; the first of equals wins.
//   nearest("pipelin", {"pipeline", "chunks"}) == "pipeline"
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

// "did you mean 'pipeline'?" or "known: a, b, c".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace penstock
