#include "penstock/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

namespace penstock {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Levenshtein distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 100;  // longer words are noise, and the cost is quadratic
  if (word.size() > kLongestWord) return {};
  std::string best;
  std::size_t best_distance = kLongestWord;
  for (const std::string_view candidate : candidates) {
    const std::size_t allowed =
        std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const std::size_t d = distance(word, candidate);
    const bool shares_a_letter = d < std::max(word.size(), candidate.size());
    if (shares_a_letter && d <= allowed && d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  if (const std::string close = nearest(word, candidates); !close.empty()) {
    return "did you mean '" + close + "'?";
  }
  std::string known = "known:";
  for (const std::string_view candidate : candidates) {
    known += known.back() == ':' ? " " : ", ";
    known += candidate;
  }
  return known;
}

}  // namespace penstock
