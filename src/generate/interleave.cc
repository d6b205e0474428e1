#include "interleave.h"

#include <algorithm>

#include <fmt/format.h>

#include "penstock/error.h"

namespace penstock {
namespace {

struct Turn {
  std::int32_t chunk;
  std::int32_t microbatch;
};

Turn turn(const Interleave& of, std::int32_t i) {
  const std::int32_t first = i / (of.group * of.chunks) * of.group;
  const std::int32_t size = std::min(of.group, of.microbatches - first);
  const std::int32_t inside = i - first * of.chunks;
  return {inside / size, first + inside % size};
}

std::int32_t rounds(std::int32_t microbatches, std::int32_t actors) {
  return std::max(1, microbatches / actors);
}

bool divides(std::int32_t microbatches, std::int32_t actors) {
  return microbatches % rounds(microbatches, actors) == 0;
}

}  // namespace

Op Interleave::forward(std::int32_t actor, std::int32_t i) const {
  const Turn at = turn(*this, i);
  return {OpKind::Forward, at.chunk * actors + actor, at.microbatch, 0};
}

Op Interleave::backward(OpKind kind, std::int32_t actor, std::int32_t i) const {
  const Turn at = turn(*this, i);
  return {kind, (chunks - 1 - at.chunk) * actors + actor, at.microbatch, 0};
}

std::int32_t torch_group(const char* name, const GenerateOptions& options) {
  const std::int32_t actors = options.actors;
  const std::int32_t microbatches = options.microbatches;
  if (divides(microbatches, actors)) return microbatches / rounds(microbatches, actors);
  std::int32_t fewer = microbatches - 1;
  std::int32_t more = microbatches + 1;
  while (!divides(fewer, actors)) --fewer;
  while (!divides(more, actors)) ++more;
  throw Error("microbatches",
              fmt::format("{} runs {} microbatches on {} actors in {} rounds, which do not divide "
                          "them evenly",
                          name, microbatches, actors, rounds(microbatches, actors)),
              fmt::format("{} or {} microbatches would do", fewer, more));
}

}  // namespace penstock
