// File: trials.h. Several schedules side by side, at one or several numbers of microbatches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "penstock/timeline.h"

namespace penstock {

// One schedule at one size. The worst actor's memory counts: it is the one that must fit.
struct Trial {
  std::string refused;  // why the schedule does not exist at this size; empty: it does
  Nanoseconds makespan = 0;
  double bubble_ratio = 0;  // metrics.h has the definitions
  double bubble_ratio_span = 0;
  double peak_in_flight = 0;    // microbatch activations
  std::int64_t peak_bytes = 0;  // weights + activations; 0: unknown
  // 2 where two routes hold mirrored copies of the model, or two versions of it are needed at once.
  double weight_copies = 0;
  std::int64_t messages = 0;  // per step, over all actors
  std::int64_t message_bytes = 0;
};

// `steps`: how many steps in a row the timeline is, where there is no flush between them; times and
// messages are the mean of these.
Trial trial_of(const Timeline& timeline, std::int32_t steps = 1);

// Every schedule at every number of microbatches.
struct Trials {
  std::vector<std::string> schedules;       // as the user called them
  std::vector<std::int32_t> microbatches;   // ascending
  std::vector<std::vector<Trial>> results;  // [microbatches][schedules]
};

// From here on `winner` takes less time than `loser`, which at the number before took no more.
struct Overtaking {
  std::size_t winner = 0;  // indices into Trials::schedules
  std::size_t loser = 0;
  std::int32_t microbatches = 0;
};

// All of them, by number of microbatches, then winner and loser. A size that one of the two refuses
// is passed over. Time: microbatches * schedules^2.
std::vector<Overtaking> overtakings(const Trials& trials);

// One size: a line per schedule. Several: the bubbles, a line per size and a column per schedule,
// and who overtakes whom. At most 80 columns while the names are short.
std::string trials_table(const Trials& trials);
// A header and a row per (microbatches, schedule).
std::string trials_csv(const Trials& trials);
// [{"microbatches", "schedule", "makespan_s", .., "refused"}, ..] and "overtakings".
nlohmann::ordered_json trials_json(const Trials& trials);

}  // namespace penstock
