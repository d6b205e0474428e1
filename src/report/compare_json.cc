#include <nlohmann/json.hpp>

#include "penstock/report.h"
#include "report/comparison.h"
#include "report/labels.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Both scaled(const Both& both, double factor) {
  Both result = both;
  if (result.a) *result.a *= factor;
  if (result.b) *result.b *= factor;
  return result;
}

// {"a": .., "b": .., "difference_percent": ..}
Json both_json(const Both& both) {
  return {{"a", or_null(both.a)},
          {"b", or_null(both.b)},
          {"difference_percent", or_null(difference(both))}};
}

Json seconds_json(const Both& nanoseconds) {
  return both_json(scaled(nanoseconds, 1e-9));
}

Json side(const Timeline& timeline) {
  return {{"schedule", timeline.name},
          {"source", name(timeline.source)},
          {"actors", timeline.actors},
          {"microbatches", timeline.microbatches}};
}

Json kinds_json(const std::vector<KindComparison>& kinds) {
  Json list = Json::array();
  for (const KindComparison& kind : kinds) {
    list.push_back({{"kind", kind.kind},
                    {"count_a", kind.count_a},
                    {"count_b", kind.count_b},
                    {"mean_s", seconds_json(kind.mean)}});
  }
  return list;
}

Json actors_json(const std::vector<ActorComparison>& actors) {
  Json list = Json::array();
  for (std::size_t actor = 0; actor < actors.size(); ++actor) {
    list.push_back({{"actor", actor},
                    {"busy_s", seconds_json(actors[actor].busy)},
                    {"idle_s", seconds_json(actors[actor].idle)},
                    {"utilization", both_json(actors[actor].utilization)},
                    {"peak_bytes", both_json(actors[actor].peak_bytes)}});
  }
  return list;
}

Json stages_json(const std::vector<std::vector<KindComparison>>& stages) {
  Json list = Json::array();
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    list.push_back({{"stage", stage}, {"kinds", kinds_json(stages[stage])}});
  }
  return list;
}

}  // namespace

Json compare_json(const Timeline& a, const Timeline& b) {
  const Comparison both = compare(a, b);
  const auto seconds = [](Nanoseconds t) { return std::optional(to_s(t)); };
  return {{"a", side(a)},
          {"b", side(b)},
          {"makespan_s", both_json({seconds(both.a.makespan), seconds(both.b.makespan)})},
          {"error_percent", or_null(both.error_percent)},
          {"utilization", both_json({both.a.utilization, both.b.utilization})},
          {"bubble_ratio", both_json({both.a.bubble_ratio, both.b.bubble_ratio})},
          {"bubble_ratio_span", both_json({both.a.bubble_ratio_span, both.b.bubble_ratio_span})},
          {"tokens_per_s", both_json({both.a.tokens_per_s, both.b.tokens_per_s})},
          {"transfer_s", seconds_json(both.transfer)},
          {"kinds", kinds_json(both.kinds)},
          {"actors", actors_json(both.actors)},
          {"stages", stages_json(both.stages)},
          {"ops_only_in_a", both.only_a},
          {"ops_only_in_b", both.only_b}};
}

}  // namespace penstock
