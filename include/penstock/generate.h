// File: generate.h. Schedules by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "penstock/costs.h"
#include "penstock/schedule.h"

namespace penstock {

// What a generator is asked for. Names and meaning are the command line's.
struct GenerateOptions {
  std::int32_t actors = 1;
  std::int32_t chunks = 1;  // stages per actor
  std::int32_t microbatches = 1;
  std::int32_t slices = 1;                         // token slices per microbatch
  std::int32_t sequence = 0;                       // tokens per sequence; 0: not known
  std::map<std::string, std::string> option = {};  // --option k=v, e.g. group=4
  // What a searched schedule is made for: one entry per stage, as many as actors * chunks.
  std::optional<CostTable> costs = {};
};

// One row of the catalogue; the table in src/generate/catalogue.cc lists them all.
struct Generator {
  std::string_view name;     // "interleaved_1f1b"
  std::string_view summary;  // one line for `penstock list schedules`
  std::string_view synonym;  // torch's class name, "ScheduleInterleaved1F1B"; may be empty
  std::string_view options;  // the --option keys it takes, separated by spaces
  Schedule (*generate)(const GenerateOptions&);
  bool needs_costs = false;
};

std::span<const Generator> generators();

// By name, or torch's class name with or without "Schedule", in any case; nullptr when there is
// none.
const Generator* find_generator(std::string_view name);

// By name, as find_generator. Throws Error with the nearest name as hint, when an option is unknown
// to that generator, when its rule refuses the sizes (the reason is the message), or when it lacks
// costs that it needs.
//   generate("interleaved_1f1b", {.actors = 4, .chunks = 2, .microbatches = 8})
Schedule generate(std::string_view name, const GenerateOptions& options);

}  // namespace penstock
