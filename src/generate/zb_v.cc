#include <algorithm>
#include <utility>
#include <vector>

#include "members.h"
#include "option.h"
#include "v_stages.h"
#include "zb_v_search.h"

namespace penstock {
namespace {

// torch's rule fills a pipeline of at least 2p-1 microbatches; with fewer, the ops of those that
// are not there are left out.
std::vector<Step> torch_order(std::int32_t p, std::int32_t r, std::int32_t microbatches) {
  std::vector<Step> order;
  order.reserve(6 * static_cast<std::size_t>(microbatches));
  const auto add = [&](OpKind kind, std::int32_t chunk, std::int32_t microbatch) {
    if (microbatch < microbatches) order.push_back({v_op(kind, p, r, chunk, microbatch)});
  };
  const auto backward = [&](std::int32_t chunk, std::int32_t microbatch) {
    add(OpKind::BackwardInput, chunk, microbatch);
    add(OpKind::BackwardWeight, chunk, microbatch);
  };
  const auto each = [&](std::int32_t times, auto ops) {
    const std::int32_t last = std::min(times, microbatches);  // no op of k names one before k
    for (std::int32_t k = 0; k < last; ++k) ops(k);
  };
  const std::int32_t filled = std::max(2 * p - 1, microbatches);
  const std::int32_t warmup = 2 * (p - r) - 1;
  each(warmup, [&](std::int32_t k) { add(OpKind::Forward, 0, k); });
  each(r, [&](std::int32_t k) {
    add(OpKind::Forward, 1, k);
    add(OpKind::Forward, 0, warmup + k);
  });
  each(p - r, [&](std::int32_t k) {
    add(OpKind::Forward, 1, r + k);
    backward(1, k);
  });
  each(filled - p, [&](std::int32_t k) {
    add(OpKind::Forward, 0, warmup + r + k);
    backward(0, k);
    add(OpKind::Forward, 1, p + k);
    backward(1, p - r + k);
  });
  each(r, [&](std::int32_t k) {
    add(OpKind::BackwardInput, 0, filled - p + k);
    add(OpKind::BackwardInput, 1, filled - r + k);
  });
  each(p - r, [&](std::int32_t k) {
    add(OpKind::BackwardInput, 0, filled - p + r + k);
    add(OpKind::BackwardWeight, 0, filled - p + k);
  });
  each(r, [&](std::int32_t k) { add(OpKind::BackwardWeight, 1, filled - r + k); });
  each(r, [&](std::int32_t k) { add(OpKind::BackwardWeight, 0, filled - r + k); });
  return order;
}

constexpr std::string_view kVariants[] = {"torch", "sailsg"};

}  // namespace

Schedule zb_v(const GenerateOptions& options) {
  std::vector<Problem> problems;
  check_chunks("zb_v", options, {2}, problems);
  const bool is_torch = word_option(options, "variant", kVariants, problems) == "torch";
  throw_if_any(std::move(problems));
  Schedule schedule = v_schedule("zb_v", options);
  if (!is_torch) {
    schedule.order = search_zb_v(options.actors, options.microbatches);
    return schedule;
  }
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    schedule.order[static_cast<std::size_t>(actor)] =
        torch_order(options.actors, actor, options.microbatches);
  }
  return schedule;
}

}  // namespace penstock
