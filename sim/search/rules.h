// File: rules.h. Priority rules for list scheduling.
#pragma once

#include <cstdint>
#include <vector>

#include "instance.h"
#include "list_schedule.h"

namespace penstock {

// What comes first when an actor can choose.
enum class First : std::uint8_t { Backward, Forward, BackwardAndWeight };

// In which order a stage takes microbatches that differ.
// ShortestOutside: the longest in the middle, so that little waits for the first and the last.
enum class Turns : std::uint8_t { AsGiven, LongestFirst, ShortestFirst, ShortestOutside };

// By microbatch: its turn among those of its route, 0, 1, ..
std::vector<std::int64_t> turns_of(const Instance& instance, Turns turns);

// Priorities from an op's kind and place. Microbatches go through an actor's chunks in groups of
// `group`, the first chunk first in forwards, the last first in backwards; every backward is split
// where that is allowed, or none.
struct Preference {
  First first = First::Backward;
  std::int32_t group = 1;
  bool split = true;
};
Rule rule_of(const Instance& instance, const Preference& preference,
             const std::vector<std::int64_t>& turns);

// All preferences that differ on the instance, and all turns.
std::vector<Preference> preferences(const Instance& instance);
std::vector<Turns> kinds_of_turns(const Instance& instance);

// Bounds on what each actor holds that make a warm-up: `first` microbatches on the last actor of
// the pipeline, `step` more on each before it.
std::vector<std::int64_t> warm_up(const Instance& instance, double first, double step);

}  // namespace penstock
