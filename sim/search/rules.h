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
enum class Turns : std::uint8_t { AsGiven, LongestFirst, ShortestFirst };

// Priorities from an op's kind and place. Microbatches go through an actor's chunks in groups of
// `group`, the first chunk first in forwards, the last first in backwards; every backward is split
// where that is allowed, or none.
struct Preference {
  First first = First::Backward;
  std::int32_t group = 1;
  Turns turns = Turns::AsGiven;
  bool split = true;
};
Rule rule_of(const Instance& instance, const Preference& preference);

// All preferences that differ on the instance.
std::vector<Preference> preferences(const Instance& instance);

// Bounds on what each actor holds that make a warm-up: `first` microbatches on the last actor of
// the pipeline, `step` more on each before it.
std::vector<std::int64_t> warm_up(const Instance& instance, double first, double step);

}  // namespace penstock
