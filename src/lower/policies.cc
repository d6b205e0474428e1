#include <algorithm>

#include "lower/place.h"
#include "penstock/lowering.h"

namespace penstock {
namespace {

// A new policy is one file beside this one and one row here.
constexpr LoweringPolicy kPolicies[] = {
    {"linear", MessagePlacement::Linear, "along one global order: never deadlocks", nullptr},
    {"paired", MessagePlacement::Paired,
     "naive where groups of neighbouring transfers get through, else linear", &place_paired},
    {"deferred", MessagePlacement::Deferred,
     "receive before use, or before a send to a higher actor that has sent", &place_deferred},
    {"naive", MessagePlacement::Naive, "receive right before use, send right after", &place_naive},
};

const LoweringPolicy& policy_of(MessagePlacement placement) {
  return *std::find_if(std::begin(kPolicies), std::end(kPolicies),
                       [&](const LoweringPolicy& policy) { return policy.placement == placement; });
}

}  // namespace

std::span<const LoweringPolicy> lowering_policies() {
  return kPolicies;
}

std::optional<MessagePlacement> parse_lowering(std::string_view text) {
  for (const LoweringPolicy& policy : kPolicies) {
    if (policy.name == text) return policy.placement;
  }
  return std::nullopt;
}

void place_transfers(MessagePlacement placement, Program& program) {
  const LoweringPolicy& policy = policy_of(placement);
  if (policy.place != nullptr) policy.place(program);
}

}  // namespace penstock
