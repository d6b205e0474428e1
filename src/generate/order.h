// File: order.h. The shapes that the one-route schedules here share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/generate.h"

namespace penstock {

// An actor's order: `warmup` forwards, then a forward and a backward in turn, then the backwards
// that are left. forward(i) and backward(i) give the i-th op of `count` each.
//   warmup 0: F B F B ..      warmup count: F F .. B B ..
template <typename Forward, typename Backward>
std::vector<Step> warm_up_and_alternate(std::int32_t count, std::int32_t warmup, Forward forward,
                                        Backward backward) {
  std::vector<Step> order;
  order.reserve(2 * static_cast<std::size_t>(count));
  warmup = std::clamp(warmup, 0, count);
  for (std::int32_t i = 0; i < warmup; ++i) order.push_back({forward(i)});
  for (std::int32_t i = warmup; i < count; ++i) {
    order.push_back({forward(i)});
    order.push_back({backward(i - warmup)});
  }
  for (std::int32_t i = count - warmup; i < count; ++i) order.push_back({backward(i)});
  return order;
}

// The same with a split backward: input(i), the i-th input gradient, stands in the backward's
// place, and its weight gradient comes `lag` input gradients later; those that are left come last.
template <typename Forward, typename Input>
std::vector<Step> warm_up_and_split(std::int32_t count, std::int32_t warmup, std::int32_t lag,
                                    Forward forward, Input input) {
  std::vector<Step> order;
  order.reserve(3 * static_cast<std::size_t>(count));
  const auto weight = [&](std::int32_t i) {
    Op op = input(i);
    op.kind = OpKind::BackwardWeight;
    return op;
  };
  warmup = std::clamp(warmup, 0, count);
  for (std::int32_t i = 0; i < warmup; ++i) order.push_back({forward(i)});
  for (std::int32_t i = 0; i < count; ++i) {
    if (i < count - warmup) order.push_back({forward(warmup + i)});
    order.push_back({input(i)});
    if (i >= lag) order.push_back({weight(i - lag)});
  }
  for (std::int32_t i = std::max(0, count - lag); i < count; ++i) order.push_back({weight(i)});
  return order;
}

// Throws Error when `options` asks for more stages per actor than one.
void refuse_chunks(const char* name, const GenerateOptions& options);

// Microbatch after microbatch through stage `stage`.
inline auto passes(OpKind kind, std::int32_t stage) {
  return [=](std::int32_t i) { return Op{kind, stage, i, 0}; };
}

// One stage per actor, microbatches ascending in both directions; order_of(actor, forward,
// backward) gives the actor's order, where backward(i) is of kind `backward`. Throws Error when
// more than one chunk is asked for.
template <typename OrderOf>
Schedule one_stage_per_actor(const char* name, const GenerateOptions& options, OpKind backward,
                             OrderOf order_of) {
  refuse_chunks(name, options);
  Schedule schedule{.name = name,
                    .pipeline = loop_pipeline(options.actors, 1, options.microbatches),
                    .order = {}};
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    schedule.order.push_back(
        order_of(actor, passes(OpKind::Forward, actor), passes(backward, actor)));
  }
  return schedule;
}

// warmup(actor) forwards first.
template <typename Warmup>
Schedule one_stage_each(const char* name, const GenerateOptions& options, Warmup warmup) {
  return one_stage_per_actor(
      name, options, OpKind::Backward, [&](std::int32_t actor, auto forward, auto backward) {
        return warm_up_and_alternate(options.microbatches, warmup(actor), forward, backward);
      });
}

// The same with a split backward, weight gradients lag(actor) behind.
template <typename Warmup, typename Lag>
Schedule one_stage_each(const char* name, const GenerateOptions& options, Warmup warmup, Lag lag) {
  return one_stage_per_actor(
      name, options, OpKind::BackwardInput, [&](std::int32_t actor, auto forward, auto input) {
        return warm_up_and_split(options.microbatches, warmup(actor), lag(actor), forward, input);
      });
}

}  // namespace penstock
