#include "slices.h"

#include <numeric>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "option.h"

namespace penstock {
namespace {

constexpr const char* kLengths = "tokens";

std::vector<std::int32_t> even(std::int32_t tokens, std::int32_t slices) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(slices), tokens / slices);
  for (std::int32_t i = 0; i < tokens % slices; ++i) ++lengths[static_cast<std::size_t>(i)];
  return lengths;
}

// "512, 512, 512, 512"; of many, the first.
std::string shown(const std::vector<std::int32_t>& lengths) {
  constexpr std::size_t kMost = 8;
  if (lengths.size() <= kMost) return fmt::format("{}", fmt::join(lengths, ", "));
  return fmt::format("{}, ..", fmt::join(lengths.begin(), lengths.begin() + kMost, ", "));
}

void refuse_too_many(std::int32_t slices, std::int32_t sequence) {
  if (slices <= sequence) return;
  throw Error("slices", fmt::format("{} slices of a sequence of {} tokens", slices, sequence),
              fmt::format("at most {}: a slice has at least one token", sequence));
}

std::vector<std::int32_t> given_lengths(const GenerateOptions& options) {
  std::vector<Problem> problems;
  std::vector<std::int32_t> lengths = numbers_option(options, kLengths, problems);
  throw_if_any(std::move(problems));
  return lengths;
}

void check_given(const std::vector<std::int32_t>& lengths, const GenerateOptions& options) {
  std::vector<Problem> problems;
  const auto problem = [&](std::string what, std::string hint) {
    problems.push_back({fmt::format("option {}", kLengths), std::move(what), std::move(hint)});
  };
  const auto count = static_cast<std::int32_t>(lengths.size());
  if (options.slices > 1 && options.slices != count) {
    problem(fmt::format("{} lengths for {} slices", count, options.slices),
            "one per slice, or leave out slices");
  }
  const std::int64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (options.sequence > 0 && sum != options.sequence) {
    const bool possible = count <= options.sequence;
    problem(fmt::format("slices of {} tokens add up to {}, the sequence has {}", shown(lengths),
                        sum, options.sequence),
            possible ? fmt::format("{} would do", shown(even(options.sequence, count)))
                     : "ask for fewer slices");
  }
  throw_if_any(std::move(problems));
}

std::vector<std::int32_t> slice_tokens(const GenerateOptions& options) {
  std::vector<std::int32_t> lengths = given_lengths(options);
  if (!lengths.empty()) {
    check_given(lengths, options);
    return lengths;
  }
  if (options.slices == 1) return {};
  if (options.sequence == 0)
    return std::vector<std::int32_t>(static_cast<std::size_t>(options.slices), 1);
  refuse_too_many(options.slices, options.sequence);
  return even(options.sequence, options.slices);
}

}  // namespace

std::int32_t slice_count(const GenerateOptions& options) {
  const auto given = static_cast<std::int32_t>(given_lengths(options).size());
  return given > 0 ? given : options.slices;
}

void set_slices(Pipeline& pipeline, const GenerateOptions& options) {
  const std::vector<std::int32_t> tokens = slice_tokens(options);
  for (Microbatch& microbatch : pipeline.microbatches) microbatch.slice_tokens = tokens;
}

}  // namespace penstock
