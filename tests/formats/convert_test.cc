// convert there and back is the identity, for random schedules and every format that holds them.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "penstock/formats.h"

namespace penstock {
namespace {

constexpr Format kWritten[] = {Format::Json,         Format::Text,       Format::SailSg,
                               Format::TorchCompute, Format::TorchComms, Format::TorchFsdp};

// Valid, in a shape that every format holds: each op of one route of stages in any places, ops in
// any order that the dependencies allow.
Schedule arbitrary_valid_schedule() {
  const auto actors = *rc::gen::inRange(1, 5);
  const auto stages = *rc::gen::inRange(actors, 8);
  const auto microbatches = *rc::gen::inRange(1, 6);
  std::vector<std::int32_t> home;
  for (int stage = 0; stage < stages; ++stage) {
    home.push_back(stage < actors ? stage : *rc::gen::inRange(0, actors));
  }
  // A microbatch's ops in dependency order; at random one of the microbatches goes on.
  std::vector<std::vector<Op>> left(static_cast<std::size_t>(microbatches));
  for (std::int32_t m = 0; m < microbatches; ++m) {
    std::vector<Op>& ops = left[static_cast<std::size_t>(m)];
    for (std::int32_t s = 0; s < stages; ++s) ops.push_back({OpKind::Forward, s, m, 0});
    for (std::int32_t s = stages - 1; s >= 0; --s) {
      const bool split = *rc::gen::inRange(0, 2) == 0;
      ops.push_back({split ? OpKind::BackwardInput : OpKind::Backward, s, m, 0});
      if (split) ops.push_back({OpKind::BackwardWeight, s, m, 0});
    }
    std::reverse(ops.begin(), ops.end());
  }
  std::string text;
  std::vector<std::string> lines(static_cast<std::size_t>(actors));
  while (!left.empty()) {
    const auto which = *rc::gen::inRange<std::size_t>(0, left.size());
    const Op op = left[which].back();
    left[which].pop_back();
    if (left[which].empty()) left.erase(left.begin() + static_cast<std::ptrdiff_t>(which));
    lines[static_cast<std::size_t>(home[static_cast<std::size_t>(op.stage)])] +=
        " " + to_string(op);
  }
  for (std::size_t actor = 0; actor < lines.size(); ++actor) {
    text += std::to_string(actor) + ":" + lines[actor] + "\n";
  }
  return parse(text);
}

RC_GTEST_PROP(Convert, FromAnyFormatToAnyAndBack, ()) {
  Schedule schedule = arbitrary_valid_schedule();
  schedule.name = "mine";
  for (const Format from : kWritten) {
    const std::string original = write_schedule(schedule, from);
    RC_ASSERT(convert_schedule(original, "mine", from, from) == original);
    for (const Format to : kWritten) {
      const std::string there = convert_schedule(original, "mine", from, to);
      RC_ASSERT(there == write_schedule(schedule, to));
      RC_ASSERT(convert_schedule(there, "mine", to, from) == original);
      // By content: only B beside W and no I is ambiguous, and then it is said.
      try {
        RC_ASSERT(convert_schedule(there, "mine", {}, from) == original);
      } catch (const Error& error) {
        RC_ASSERT(is_torch(to));
        RC_ASSERT(std::string(error.what()).find("input gradient") != std::string::npos);
      }
    }
  }
}

// Whatever text can hold, slices and pairs too, and whether or not it is valid.
RC_GTEST_PROP(Convert, JsonAndTextAndBack, ()) {
  Schedule schedule = arbitrary_derivable_schedule();
  schedule.name = "mine";
  const std::string text = write_schedule(schedule, Format::Text);
  const std::string json = convert_schedule(text, "mine", {}, Format::Json);
  RC_ASSERT(read_schedule(json, "mine") == schedule);
  RC_ASSERT(convert_schedule(json, "mine", {}, Format::Text) == text);
}

RC_GTEST_PROP(Convert, JsonAndScheduledNodesAndBack, ()) {
  Schedule schedule = arbitrary_derivable_schedule(kPassKinds);
  schedule.name = "mine";
  for (std::vector<Step>& order : schedule.order) {
    for (Step& step : order) step.overlaps_previous = false;
  }
  const std::string nodes = write_schedule(schedule, Format::SailSg);
  const std::string json = convert_schedule(nodes, "mine", {}, Format::Json);
  RC_ASSERT(read_schedule(json, "mine") == schedule);
  RC_ASSERT(convert_schedule(json, "mine", {}, Format::SailSg) == nodes);
}

}  // namespace
}  // namespace penstock
