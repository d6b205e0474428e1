// File: schedule_input.h. The schedule that the command line names: a file, or a generator and
// sizes.
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "penstock/costs.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/program.h"
#include "penstock/schedule.h"

namespace penstock {

// --actors, --chunks, --microbatches, --slices, --option.
GenerateOptions generate_options(const Arguments& arguments);

// --lowering. Throws UsageError with the policies there are. REQUIRES: arguments.has("lowering").
MessagePlacement lowering_from(const Arguments& arguments);

// --synchronization; nullopt when it is not given. Throws UsageError with those there are.
std::optional<Synchronization> synchronization_from(const Arguments& arguments);

// The format that option `name` names. Throws UsageError with the formats there are.
// REQUIRES: arguments.has(name).
Format format_of(const Arguments& arguments, std::string_view name);

// --to, or by the ending of --output: json, text, or a torch table (torch-compute) for .csv;
// nullopt when neither tells.
std::optional<Format> target_format(const Arguments& arguments);

// --from; nullopt: by content.
std::optional<Format> format_from(const Arguments& arguments);

// A file brings its own sizes: throws UsageError when --actors or another of generate_options is
// given beside `path`.
void refuse_sizes(const Arguments& arguments, const std::string& path);

// Throws Error with every problem of the file and of the schedule. `content` is what `path` holds.
Schedule checked_schedule(std::string_view content, const std::string& path,
                          const Arguments& arguments);
Schedule read_checked_schedule(const std::string& path, const Arguments& arguments);

// `word` as a file if there is one of that name, else as a generator's name.
Schedule schedule_from(const std::string& word, const Arguments& arguments);

// --costs or --costs-file of --per-actor, an entry for each actor. Throws UsageError when there is
// none, Error when there are others.
CostTable actor_costs(const Arguments& arguments, std::int32_t actors);

// --costs or --costs-file for `schedule`; nullopt when neither is given. Throws Error with what is
// missing, UsageError when both are given.
std::optional<CostTable> costs_from(const Arguments& arguments, const Schedule& schedule);

// F=1, B=2, I=1, W=1, R=1 on every stage: what a schedule is drawn with when nothing is said.
CostTable unit_costs(const Schedule& schedule);

}  // namespace penstock
