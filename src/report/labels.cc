#include "report/labels.h"

#include <fmt/format.h>

namespace penstock {
namespace {
constexpr std::string_view kSources[] = {"predicted", "measured", "imported"};
}  // namespace

std::string label(const Span& span) {
  switch (span.kind) {
    case ActionKind::ReduceGradients:
      return "reduce " + std::to_string(span.op.stage);
    case ActionKind::GlobalNorm:
      return "norm";
    case ActionKind::PartialNorm:
      return "own norm";
    case ActionKind::Verdict:
      return "verdict";
    case ActionKind::Update:
      return "update " + std::to_string(span.op.stage);
    default:
      return to_string(span.op);
  }
}

std::string label(const Transfer& transfer) {
  return std::string(tensor_name(transfer.kind)) + " " + to_string(transfer.op);
}

std::string_view name(TimelineSource source) {
  return kSources[static_cast<std::size_t>(source)];
}

std::string sizes(const Timeline& timeline) {
  return fmt::format("{} actor{}, {} microbatch{}", timeline.actors,
                     timeline.actors == 1 ? "" : "s", timeline.microbatches,
                     timeline.microbatches == 1 ? "" : "es");
}

std::size_t kind_index(const Span& span) {
  constexpr std::size_t kOps = kOpKinds;
  switch (span.kind) {
    case ActionKind::ReduceGradients:
      return kOps;
    case ActionKind::GlobalNorm:
    case ActionKind::PartialNorm:
      return kOps + 1;
    case ActionKind::Verdict:
      return kOps + 3;
    case ActionKind::Update:
      return kOps + 2;
    default:
      return static_cast<std::size_t>(span.op.kind);
  }
}

}  // namespace penstock
