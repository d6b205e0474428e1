// File: schedule_input.h. The schedule that the command line names: a file, or a generator and
// sizes.
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "penstock/costs.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/schedule.h"

namespace penstock {

// --actors, --chunks, --microbatches, --slices, --option.
GenerateOptions generate_options(const Arguments& arguments);

// --from; nullopt: by content.
std::optional<Format> format_from(const Arguments& arguments);

// Throws Error with every problem of the file and of the schedule.
Schedule read_checked_schedule(const std::string& path, const Arguments& arguments);

// `word` as a file if there is one of that name, else as a generator's name.
Schedule schedule_from(const std::string& word, const Arguments& arguments);

// --costs or --costs-file for `schedule`; nullopt when neither is given. Throws Error with what is
// missing, UsageError when both are given.
std::optional<CostTable> costs_from(const Arguments& arguments, const Schedule& schedule);

// F=1, B=2, I=1, W=1 on every stage: what a schedule is drawn with when nothing is said.
CostTable unit_costs(const Schedule& schedule);

}  // namespace penstock
