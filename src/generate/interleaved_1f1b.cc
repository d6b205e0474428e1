#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "interleave.h"
#include "members.h"
#include "option.h"
#include "order.h"

namespace penstock {
namespace {

// "5", "6 or 10": those next to `group` that leave nothing, or enough for all actors.
std::string groups_near(std::int32_t group, std::int32_t actors, std::int32_t microbatches) {
  const auto is_legal = [&](std::int32_t size) {
    const std::int32_t rest = microbatches % size;
    return size >= actors && size <= microbatches && (rest == 0 || rest >= actors);
  };
  std::string near;
  std::int32_t size = std::min(group, microbatches) - 1;
  while (size >= actors && !is_legal(size)) --size;
  if (size >= actors) near = std::to_string(size);
  size = std::max(group, actors - 1) + 1;
  while (size <= microbatches && !is_legal(size)) ++size;
  if (size <= microbatches) near += (near.empty() ? "" : " or ") + std::to_string(size);
  return near;
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
                microbatches < actors
                    ? fmt::format("Megatron's rule: actors <= group <= microbatches; at least {} "
                                  "microbatches",
                                  actors)
                    : fmt::format("Megatron's rule: actors <= group <= microbatches; group={}",
                                  groups_near(group, actors, microbatches)));
  }
  if (const std::int32_t rest = microbatches % group; rest != 0 && rest < actors) {
    throw Error("option group",
                fmt::format("groups of {} leave {} of {} microbatches over, too few for {} actors",
                            group, rest, microbatches, actors),
                fmt::format("Megatron's rule: the last group has at least as many microbatches as "
                            "actors; group={}, or {} microbatches",
                            groups_near(group, actors, microbatches),
                            multiples_near(microbatches, group, group)));
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

// Megatron's overlap_moe_expert_parallel_comm: a forward runs beside the backward of another
// microbatch, so that one more has to be there.
std::int32_t forwards_ahead(const GenerateOptions& options) {
  std::vector<Problem> problems;
  const bool moe_overlap = switch_option(options, "moe_overlap", false, problems);
  throw_if_any(std::move(problems));
  return moe_overlap ? 1 : 0;
}

}  // namespace

Schedule interleaved_1f1b(const GenerateOptions& options) {
  const std::int32_t actors = options.actors;
  const std::int32_t chunks = options.chunks;
  const std::int32_t microbatches = options.microbatches;
  const Interleave turns{actors, chunks, microbatches, group_size(options)};
  const std::int32_t ahead = forwards_ahead(options);
  Schedule schedule{.name = "interleaved_1f1b",
                    .pipeline = loop_pipeline(actors, chunks, microbatches),
                    .order = {}};
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    const std::int32_t warmup = 2 * (actors - 1 - actor) + (chunks - 1) * turns.group + ahead;
    schedule.order.push_back(warm_up_and_alternate(
        chunks * microbatches, warmup, [&](std::int32_t i) { return turns.forward(actor, i); },
        [&](std::int32_t i) { return turns.backward(OpKind::Backward, actor, i); }));
  }
  return schedule;
}

}  // namespace penstock
