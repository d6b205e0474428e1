#include "batch_shape.h"

#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "penstock/error.h"

namespace penstock {
namespace {

// Sequences per one that the pipeline counts; 0 when they do not share out.
std::int32_t sequences_per_share(const RunPlan& plan, std::vector<Problem>& problems) {
  const std::vector<Microbatch>& microbatches = plan.program.schedule.pipeline.microbatches;
  const std::int64_t shares = std::accumulate(
      microbatches.begin(), microbatches.end(), std::int64_t{0},
      [](std::int64_t sum, const Microbatch& microbatch) { return sum + microbatch.sequences; });
  if (shares > 0 && plan.batch.global % shares == 0) {
    return static_cast<std::int32_t>(plan.batch.global / shares);
  }
  problems.push_back({"batch.global",
                      fmt::format("{} sequences cannot be shared out to {} microbatches",
                                  plan.batch.global, microbatches.size()),
                      "batch.global = batch.micro times the schedule's microbatches"});
  return 0;
}

// Tokens of each slice; empty when they do not share out.
std::vector<std::int32_t> tokens_of(const RunPlan& plan, std::size_t number,
                                    std::vector<Problem>& problems) {
  const Microbatch& microbatch = plan.program.schedule.pipeline.microbatches[number];
  if (microbatch.slice_tokens.empty()) return {plan.batch.sequence};
  std::vector<std::int32_t> tokens = microbatch.slice_tokens;
  const std::int64_t shares = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  if (shares > 0 && plan.batch.sequence % shares == 0) {
    for (std::int32_t& each : tokens) {
      each = static_cast<std::int32_t>(each * (plan.batch.sequence / shares));
    }
    return tokens;
  }
  problems.push_back(
      {"batch.sequence",
       fmt::format("{} tokens cannot be cut like microbatch {}, whose slices ({}) add up to {}",
                   plan.batch.sequence, number, fmt::join(tokens, ", "), shares),
       "the slices add up to batch.sequence, or to a divisor of it"});
  return {};
}

}  // namespace

std::vector<TokenSlice> batch_shape(const RunPlan& plan) {
  const std::vector<Microbatch>& microbatches = plan.program.schedule.pipeline.microbatches;
  std::vector<Problem> problems;
  const std::int32_t scale = sequences_per_share(plan, problems);
  std::vector<TokenSlice> shape;
  for (std::size_t m = 0; m < microbatches.size(); ++m) {
    TokenSlice slice{.sequences = microbatches[m].sequences * scale};
    for (const std::int32_t tokens : tokens_of(plan, m, problems)) {
      slice.first = slice.end();
      slice.tokens = tokens;
      shape.push_back(slice);
    }
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return shape;
}

}  // namespace penstock
