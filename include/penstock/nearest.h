// File: nearest.h. "Did you mean": the hint for a misspelt name.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// The candidate with the smallest edit distance to `word`, or "" when none is close (distance over
// a third of the longer length, at least 1 allowed). Case is ignored; the first of equals wins.
//   nearest("pipelin", {"pipeline", "chunks"}) == "pipeline"
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

// "did you mean 'pipeline'?" or "known: a, b, c".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

// The same for rows that have a name each.
//   did_you_mean(word, verbs(), &Verb::name)
template <typename Rows, typename Name>
std::string did_you_mean(std::string_view word, const Rows& rows, Name name) {
  std::vector<std::string_view> candidates;
  for (const auto& row : rows) candidates.push_back(std::invoke(name, row));
  return did_you_mean(word, candidates);
}

}  // namespace penstock
