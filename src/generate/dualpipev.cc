#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dual_order.h"
#include "members.h"
#include "option.h"

namespace penstock {
namespace {

constexpr std::string_view kVariants[] = {"torch", "deepseek", "jaxpp"};

void check_sizes(const GenerateOptions& options, std::vector<Problem>& problems) {
  check_chunks("dualpipev", options, {2}, problems);
  const std::int32_t least = 2 * options.actors;
  if (options.microbatches >= least) return;
  problems.push_back({"microbatches",
                      fmt::format("dualpipev fills both arms of its V and needs at least two "
                                  "microbatches per actor, not {} on {} actors",
                                  options.microbatches, options.actors),
                      fmt::format("{} microbatches or more", least)});
}

}  // namespace

// The first half of DualPipe's actors; what the second half did is the way back up the V.
Schedule dualpipev(const GenerateOptions& options) {
  std::vector<Problem> problems;
  check_sizes(options, problems);
  const bool is_jaxpp = word_option(options, "variant", kVariants, problems) == "jaxpp";
  const bool fused = switch_option(options, "fused", true, problems);
  throw_if_any(std::move(problems));
  const std::int32_t actors = options.actors;
  Schedule schedule{
      .name = "dualpipev", .pipeline = v_pipeline(actors, 2, options.microbatches), .order = {}};
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    schedule.order.push_back(dual_order({.actors = actors,
                                         .actor = actor,
                                         .microbatches = options.microbatches,
                                         .near = {.stage = actor},
                                         .far = {.stage = 2 * actors - 1 - actor},
                                         .rule = is_jaxpp ? DualRule::JaxPP : DualRule::DeepSeek,
                                         .fused = fused}));
  }
  return schedule;
}

}  // namespace penstock
