#include "v_stages.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "option.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostSlots = 20'000'000;

std::int64_t slots(std::int64_t actors, std::int64_t microbatches) {
  return actors * (7 * actors + 6 * microbatches);
}

}  // namespace

void refuse_grid(const char* name, const GenerateOptions& options) {
  std::vector<Problem> problems;
  check_chunks(name, options, {2}, problems);
  if (slots(options.actors, options.microbatches) > kMostSlots) {
    std::int64_t actors = options.actors;
    while (slots(actors, 1) > kMostSlots) --actors;
    const std::int64_t microbatches = (kMostSlots / actors - 7 * actors) / 6;
    problems.push_back(
        {"schedule",
         fmt::format("{} lays out {} actors and {} microbatches on a grid of more than {} million "
                     "slots",
                     name, options.actors, options.microbatches, kMostSlots / 1'000'000),
         actors < options.actors
             ? fmt::format("at most {} actors", actors)
             : fmt::format("at most {} microbatches on so many actors", microbatches)});
  }
  throw_if_any(std::move(problems));
}

}  // namespace penstock
