#include "penstock/trials.h"

#include <algorithm>
#include <set>

#include "penstock/metrics.h"

namespace penstock {
namespace {

double copies_of(const std::vector<TimelineStage>& stages) {
  std::set<std::int32_t> parts;
  for (const TimelineStage& stage : stages) parts.insert(stage.part);
  return parts.empty() ? 0 : static_cast<double>(stages.size()) / static_cast<double>(parts.size());
}

}  // namespace

Trial trial_of(const Timeline& timeline, std::int32_t steps) {
  const Metrics metrics = measure(timeline);
  Trial trial{.makespan = metrics.makespan / steps,
              .bubble_ratio = metrics.bubble_ratio,
              .bubble_ratio_span = metrics.bubble_ratio_span,
              .messages = static_cast<std::int64_t>(timeline.transfers.size()) / steps};
  std::int32_t versions = 1;
  for (const ActorMetrics& actor : metrics.actors) {
    trial.peak_in_flight = std::max(trial.peak_in_flight, actor.peak_in_flight);
    trial.peak_bytes = std::max(trial.peak_bytes, actor.peak_bytes);
    versions = std::max(versions, actor.weight_versions);
  }
  trial.weight_copies = versions * copies_of(timeline.stages);
  for (const Transfer& transfer : timeline.transfers) trial.message_bytes += transfer.bytes;
  trial.message_bytes /= steps;
  return trial;
}

std::vector<Overtaking> overtakings(const Trials& trials) {
  std::vector<Overtaking> found;
  const std::size_t count = trials.schedules.size();
  // Whether the first was slower or as fast when both last ran.
  std::vector<std::optional<bool>> behind(count * count);
  for (std::size_t m = 0; m < trials.microbatches.size(); ++m) {
    for (std::size_t winner = 0; winner < count; ++winner) {
      for (std::size_t loser = 0; loser < count; ++loser) {
        const Trial& one = trials.results[m][winner];
        const Trial& other = trials.results[m][loser];
        if (!one.refused.empty() || !other.refused.empty()) continue;
        std::optional<bool>& was_behind = behind[winner * count + loser];
        const bool is_behind = one.makespan >= other.makespan;
        if (was_behind.value_or(false) && !is_behind) {
          found.push_back({winner, loser, trials.microbatches[m]});
        }
        was_behind = is_behind;
      }
    }
  }
  return found;
}

}  // namespace penstock
