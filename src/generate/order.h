// File: order.h. The shape that all one-route schedules here share.
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

// One stage per actor, microbatches ascending in both directions; warmup(actor) forwards first.
// Throws Error when more than one chunk is asked for.
template <typename Warmup>
Schedule one_stage_each(const char* name, const GenerateOptions& options, Warmup warmup);

// Throws Error when `options` asks for more stages per actor than one.
void refuse_chunks(const char* name, const GenerateOptions& options);

template <typename Warmup>
Schedule one_stage_each(const char* name, const GenerateOptions& options, Warmup warmup) {
  refuse_chunks(name, options);
  Schedule schedule{.name = name,
                    .pipeline = loop_pipeline(options.actors, 1, options.microbatches),
                    .order = {}};
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    schedule.order.push_back(warm_up_and_alternate(
        options.microbatches, warmup(actor),
        [=](std::int32_t i) {
          return Op{OpKind::Forward, actor, i, 0};
        },
        [=](std::int32_t i) {
          return Op{OpKind::Backward, actor, i, 0};
        }));
  }
  return schedule;
}

}  // namespace penstock
