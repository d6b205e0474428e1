#include "weight_versions.h"

#include <algorithm>
#include <map>

namespace penstock {
namespace {

// One stage, followed along its actor's spans.
class Versions {
 public:
  void follow(const Op& op) {
    const Op unit{OpKind::Forward, op.stage, op.microbatch, op.slice};
    if (op.kind == OpKind::Forward) {
      ++in_flight_[current_];
      read_[unit] = current_;
    } else if (op.kind == OpKind::Update) {
      ++current_;
    } else if (gives_weight_gradient(op.kind)) {
      const auto read = read_.find(unit);
      if (read == read_.end()) return;  // an imported timeline may begin in the middle
      const auto version = in_flight_.find(read->second);
      if (--version->second == 0) in_flight_.erase(version);
      read_.erase(read);
    }
    const bool is_read = in_flight_.contains(current_);
    most_ = std::max(most_, static_cast<std::int32_t>(in_flight_.size()) + (is_read ? 0 : 1));
  }
  std::int32_t most() const { return most_; }

 private:
  std::int32_t current_ = 0;
  std::int32_t most_ = 1;
  std::map<std::int32_t, std::int32_t> in_flight_;  // units by the version that they read
  std::map<Op, std::int32_t> read_;                 // by unit in flight: the version
};

}  // namespace

std::int32_t most_weight_versions(const Timeline& timeline, SpanRange lane) {
  const auto first = timeline.spans.begin() + lane.first;
  const auto last = timeline.spans.begin() + lane.last;
  const auto updates = [](const Span& span) {
    return span.kind == ActionKind::Compute && span.op.kind == OpKind::Update;
  };
  if (std::none_of(first, last, updates)) return 1;
  std::map<std::int32_t, Versions> stages;
  for (auto span = first; span != last; ++span) {
    if (span->kind == ActionKind::Compute) stages[span->op.stage].follow(span->op);
  }
  std::int32_t most = 1;
  for (const auto& [stage, versions] : stages) most = std::max(most, versions.most());
  return most;
}

}  // namespace penstock
