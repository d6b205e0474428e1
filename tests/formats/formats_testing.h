// File: formats_testing.h. What the tests of readers and writers share.
#pragma once

#include <numeric>
#include <string>
#include <utility>

#include <rapidcheck.h>

#include "penstock/error.h"
#include "penstock/schedule.h"

namespace penstock {

// Everything that the Error thrown by `call` says; "" when it throws none.
template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// F, B, I, W: what torch's tables hold.
inline constexpr int kTorchKinds = 4;

// Any order of any ops of the first `kinds` kinds, right or wrong, in the shape that text can hold:
// one route over the stages in order, part = stage, and an op of every stage, microbatch and slice.
inline Schedule arbitrary_derivable_schedule(int kinds = kOpKinds) {
  const auto actors = *rc::gen::inRange(1, 5);
  const auto stages = *rc::gen::inRange(actors, 9);
  const auto microbatches = *rc::gen::inRange(1, 6);
  Schedule schedule;
  schedule.pipeline.actors = actors;
  schedule.order.resize(static_cast<std::size_t>(actors));
  schedule.pipeline.microbatches.resize(static_cast<std::size_t>(microbatches));
  for (Microbatch& microbatch : schedule.pipeline.microbatches) {
    const auto slices = *rc::gen::inRange(1, 4);
    if (slices > 1) microbatch.slice_tokens.assign(static_cast<std::size_t>(slices), 1);
  }
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const auto actor = stage < actors ? stage : *rc::gen::inRange(0, actors);
    schedule.pipeline.stages.push_back({.actor = actor, .part = stage});
    std::vector<Step>& order = schedule.order[static_cast<std::size_t>(actor)];
    for (std::int32_t m = 0; m < microbatches; ++m) {
      for (std::int32_t k = 0; k < schedule.pipeline.microbatches[m].slices(); ++k) {
        const auto kind = static_cast<OpKind>(*rc::gen::inRange(0, kinds));
        const bool may_pair = !order.empty() && !order.back().overlaps_previous;
        order.push_back({.op = {kind, stage, m, k},
                         .overlaps_previous = may_pair && *rc::gen::inRange(0, 4) == 0});
      }
    }
  }
  schedule.pipeline.routes.emplace_back(static_cast<std::size_t>(stages));
  std::iota(schedule.pipeline.routes[0].begin(), schedule.pipeline.routes[0].end(), 0);
  return schedule;
}

// Without slices, which torch's tables cannot hold.
inline void make_torch(Schedule& schedule) {
  for (Microbatch& microbatch : schedule.pipeline.microbatches) microbatch.slice_tokens.clear();
  for (std::vector<Step>& order : schedule.order) {
    for (Step& step : order) step.op.slice = 0;
  }
}

// `text` with one to four bytes replaced, inserted, removed or doubled.
inline std::string mutated(std::string text) {
  const auto changes = *rc::gen::inRange(1, 5);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto length = std::min(*rc::gen::inRange<std::size_t>(1, 20), text.size() - at);
    const std::string inserted = *rc::gen::element<std::string>(
        "9", "-", "\"", "{", "[", "]", "}", ",", ":", ";", "(", "\n", "F", "W", "null", "1e999",
        "99999999999999999999", std::string(1, '\0'), "\xff");
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        text.replace(at, length, inserted);
        break;
      case 1:
        text.insert(at, inserted);
        break;
      case 2:
        text.erase(at, length);
        break;
      default:
        text.insert(at, text.substr(at, length));
    }
  }
  return text;
}

}  // namespace penstock
