#include <nlohmann/json.hpp>

#include "penstock/report.h"
#include "report/critical_json.h"
#include "report/labels.h"
#include "report/numbers_json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json actor_json(std::int32_t actor, const ActorMetrics& metrics) {
  Json idle = Json::object();
  for (int cause = 0; cause < kIdleCauses; ++cause) {
    idle[std::string(name(static_cast<IdleCause>(cause))) + "_s"] =
        to_s(metrics.idle[static_cast<std::size_t>(cause)]);
  }
  return {{"actor", actor},
          {"busy_s", to_s(metrics.busy)},
          {"recompute_s", to_s(metrics.recompute)},
          {"utilization", metrics.utilization},
          {"peak_in_flight", metrics.peak_in_flight},
          {"peak_bytes", metrics.peak_bytes > 0 ? Json(metrics.peak_bytes) : Json(nullptr)},
          {"weight_versions", metrics.weight_versions},
          {"idle", std::move(idle)}};
}

}  // namespace

Json numbers_json(const Timeline& timeline, const Metrics& metrics) {
  Json actors = Json::array();
  for (std::size_t actor = 0; actor < metrics.actors.size(); ++actor) {
    actors.push_back(actor_json(static_cast<std::int32_t>(actor), metrics.actors[actor]));
  }
  return {{"schedule", timeline.name},
          {"source", name(timeline.source)},
          {"microbatches", timeline.microbatches},
          {"makespan_s", to_s(metrics.makespan)},
          {"bubble_ratio", metrics.bubble_ratio},
          {"bubble_ratio_span", metrics.bubble_ratio_span},
          {"bubble_over_ideal", metrics.bubble_over_ideal},
          {"utilization", metrics.utilization},
          {"mfu", or_null(metrics.mfu)},
          {"tokens_per_s", or_null(metrics.tokens_per_s)},
          {"actors", std::move(actors)}};
}

Json report_json(const Timeline& timeline, const Metrics& metrics) {
  Json report = numbers_json(timeline, metrics);
  report["critical_path"] = critical_path_json(timeline);
  report["problems"] = Json::array();
  report["baselines"] = Json::array();
  return report;
}

}  // namespace penstock
