#include <utility>
#include <vector>

#include <fmt/format.h>

#include "members.h"
#include "option.h"
#include "order.h"

namespace penstock {
namespace {

// torch: rounds of equal size, as near to one microbatch per actor as divides. A microbatch count
// below the number of actors is one round.
std::int32_t torch_group(const GenerateOptions& options) {
  const std::int32_t rounds = std::max(1, options.microbatches / options.actors);
  if (options.microbatches % rounds == 0) return options.microbatches / rounds;
  const std::int32_t fewer = options.microbatches / rounds * rounds;
  throw Error(
      "microbatches",
      fmt::format("interleaved_1f1b runs {} microbatches on {} actors in {} rounds, which "
                  "do not divide them evenly",
                  options.microbatches, options.actors, rounds),
      fmt::format("{} microbatches would do; or --option group=G for Megatron's rule", fewer));
}

// Megatron: microbatch_group_size_per_vp_stage, by default the number of actors; a remainder must
// fill the pipeline.
std::int32_t megatron_group(const GenerateOptions& options) {
  std::vector<Problem> problems;
  const std::int32_t group = number_option(options, "group", options.actors, problems);
  throw_if_any(std::move(problems));
  const std::int32_t actors = options.actors;
  const std::int32_t microbatches = options.microbatches;
  if (group < actors || group > microbatches) {
    throw Error("option group",
                fmt::format("a group of {} is not between the {} actors and the {} microbatches",
                            group, actors, microbatches),
                "Megatron's rule: actors <= group <= microbatches");
  }
  if (const std::int32_t rest = microbatches % group; rest != 0 && rest < actors) {
    throw Error("option group",
                fmt::format("groups of {} leave {} of {} microbatches over, too few for {} actors",
                            group, rest, microbatches, actors),
                "Megatron's rule: the last group has at least as many microbatches as actors");
  }
  return group;
}

constexpr std::string_view kVariants[] = {"torch", "megatron"};

std::int32_t group_size(const GenerateOptions& options) {
  std::vector<Problem> problems;
  const bool is_torch = word_option(options, "variant", kVariants, problems) == "torch";
  throw_if_any(std::move(problems));
  const bool grouped = options.option.contains("group");
  if (!is_torch || (grouped && !options.option.contains("variant"))) return megatron_group(options);
  if (grouped) {
    throw Error("option group", "torch's rule has no groups", "leave out variant=torch");
  }
  return torch_group(options);
}

}  // namespace

// A group of microbatches passes chunk 0, then chunk 1, .. before the next group starts; the last
// group may be smaller. The backward takes the same groups with the chunks in reverse.
Schedule interleaved_1f1b(const GenerateOptions& options) {
  const std::int32_t actors = options.actors;
  const std::int32_t chunks = options.chunks;
  const std::int32_t microbatches = options.microbatches;
  const std::int32_t group = group_size(options);
  Schedule schedule{.name = "interleaved_1f1b",
                    .pipeline = loop_pipeline(actors, chunks, microbatches),
                    .order = {}};
  struct Turn {
    std::int32_t chunk;
    std::int32_t microbatch;
  };
  const auto turn = [=](std::int32_t i) {
    const std::int32_t first = i / (group * chunks) * group;
    const std::int32_t size = std::min(group, microbatches - first);
    const std::int32_t inside = i - first * chunks;
    return Turn{inside / size, first + inside % size};
  };
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    const std::int32_t warmup = 2 * (actors - 1 - actor) + (chunks - 1) * group;
    const auto forward = [=](std::int32_t i) {
      return Op{OpKind::Forward, turn(i).chunk * actors + actor, turn(i).microbatch, 0};
    };
    const auto backward = [=](std::int32_t i) {
      const std::int32_t chunk = chunks - 1 - turn(i).chunk;
      return Op{OpKind::Backward, chunk * actors + actor, turn(i).microbatch, 0};
    };
    schedule.order.push_back(
        warm_up_and_alternate(chunks * microbatches, warmup, forward, backward));
  }
  return schedule;
}

}  // namespace penstock
