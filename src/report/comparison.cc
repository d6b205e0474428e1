#include "report/comparison.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "report/labels.h"

namespace penstock {
namespace {

struct Sum {
  double total = 0;
  std::int64_t count = 0;
  std::optional<double> mean() const {
    return count > 0 ? std::optional(total / static_cast<double>(count)) : std::nullopt;
  }
};

using Sums = std::array<Sum, kSpanKinds.size()>;

// Sums of all spans, then of each stage.
std::vector<Sums> sums(const Timeline& timeline, std::size_t stages) {
  std::vector<Sums> all(stages + 1);
  for (const Span& span : timeline.spans) {
    const std::size_t kind = kind_index(span);
    const auto stage = static_cast<std::size_t>(span.op.stage + 1);
    for (const std::size_t row : {std::size_t{0}, stage}) {
      all[row][kind].total += static_cast<double>(span.end - span.start);
      ++all[row][kind].count;
      if (stage == 0) break;  // the norm belongs to no stage
    }
  }
  return all;
}

std::vector<KindComparison> kinds_of(const Sums& a, const Sums& b) {
  std::vector<KindComparison> kinds;
  for (std::size_t kind = 0; kind < kSpanKinds.size(); ++kind) {
    if (a[kind].count + b[kind].count == 0) continue;
    kinds.push_back({.kind = std::string(kSpanKinds[kind]),
                     .mean = {a[kind].mean(), b[kind].mean()},
                     .count_a = a[kind].count,
                     .count_b = b[kind].count});
  }
  return kinds;
}

std::optional<double> known(std::int64_t value) {
  return value > 0 ? std::optional(static_cast<double>(value)) : std::nullopt;
}

std::vector<ActorComparison> actors_of(const Metrics& a, const Metrics& b) {
  std::vector<ActorComparison> actors(std::max(a.actors.size(), b.actors.size()));
  const auto fill = [&](const Metrics& metrics, std::optional<double> Both::*side) {
    for (std::size_t i = 0; i < metrics.actors.size(); ++i) {
      const ActorMetrics& one = metrics.actors[i];
      actors[i].busy.*side = static_cast<double>(one.busy);
      actors[i].idle.*side = static_cast<double>(metrics.makespan - one.busy);
      actors[i].utilization.*side = one.utilization;
      actors[i].peak_bytes.*side = known(one.peak_bytes);
    }
  };
  fill(a, &Both::a);
  fill(b, &Both::b);
  return actors;
}

std::optional<double> mean_transfer(const Timeline& timeline) {
  Sum sum;
  for (const Transfer& transfer : timeline.transfers) {
    sum.total += static_cast<double>(transfer.end - transfer.ready);
    ++sum.count;
  }
  return sum.mean();
}

std::vector<Op> sorted_ops(const Timeline& timeline) {
  std::vector<Op> ops;
  for (const Span& span : timeline.spans) {
    if (span.kind == ActionKind::Compute) ops.push_back(span.op);
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

std::int64_t missing_from(const std::vector<Op>& ops, const std::vector<Op>& others) {
  std::vector<Op> rest;
  std::set_difference(ops.begin(), ops.end(), others.begin(), others.end(),
                      std::back_inserter(rest));
  return static_cast<std::int64_t>(rest.size());
}

std::optional<double> makespan_error(const Timeline& a, const Timeline& b, Nanoseconds time_a,
                                     Nanoseconds time_b) {
  const bool first = a.source == TimelineSource::Predicted && b.source == TimelineSource::Measured;
  const bool second = a.source == TimelineSource::Measured && b.source == TimelineSource::Predicted;
  const auto measured = static_cast<double>(first ? time_b : time_a);
  const auto predicted = static_cast<double>(first ? time_a : time_b);
  if (!(first || second)) return std::nullopt;
  return difference({measured, predicted});
}

}  // namespace

Comparison compare(const Timeline& a, const Timeline& b) {
  Comparison result;
  result.a = measure(a);
  result.b = measure(b);
  const std::size_t stages = std::max(a.stages.size(), b.stages.size());
  const std::vector<Sums> sums_a = sums(a, stages);
  const std::vector<Sums> sums_b = sums(b, stages);
  result.kinds = kinds_of(sums_a[0], sums_b[0]);
  for (std::size_t stage = 1; stage <= stages; ++stage) {
    result.stages.push_back(kinds_of(sums_a[stage], sums_b[stage]));
  }
  result.actors = actors_of(result.a, result.b);
  result.transfer = {mean_transfer(a), mean_transfer(b)};
  result.error_percent = makespan_error(a, b, result.a.makespan, result.b.makespan);
  const std::vector<Op> ops_a = sorted_ops(a);
  const std::vector<Op> ops_b = sorted_ops(b);
  result.only_a = missing_from(ops_a, ops_b);
  result.only_b = missing_from(ops_b, ops_a);
  return result;
}

std::optional<double> difference(const Both& both) {
  if (!both.a || !both.b || *both.a == 0) return std::nullopt;
  return 100 * (*both.b - *both.a) / *both.a;
}

}  // namespace penstock
