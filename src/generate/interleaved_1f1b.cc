#include <utility>
#include <vector>

#include <fmt/format.h>

#include "interleave.h"
#include "members.h"
#include "option.h"
#include "order.h"

namespace penstock {
namespace {

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
  return torch_group("interleaved_1f1b", options);
}

}  // namespace

Schedule interleaved_1f1b(const GenerateOptions& options) {
  const std::int32_t actors = options.actors;
  const std::int32_t chunks = options.chunks;
  const std::int32_t microbatches = options.microbatches;
  const Interleave turns{actors, chunks, microbatches, group_size(options)};
  Schedule schedule{.name = "interleaved_1f1b",
                    .pipeline = loop_pipeline(actors, chunks, microbatches),
                    .order = {}};
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    const std::int32_t warmup = 2 * (actors - 1 - actor) + (chunks - 1) * turns.group;
    schedule.order.push_back(warm_up_and_alternate(
        chunks * microbatches, warmup, [&](std::int32_t i) { return turns.forward(actor, i); },
        [&](std::int32_t i) { return turns.backward(OpKind::Backward, actor, i); }));
  }
  return schedule;
}

}  // namespace penstock
