// File: search_input.h. The schedule called "searched": made for the costs of the command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "command_line.h"
#include "penstock/generate.h"
#include "penstock/search.h"

namespace penstock {

// Its row of `penstock list schedules`.
inline constexpr std::string_view kSearched = "searched";
inline constexpr std::string_view kSearchedSummary =
    "the best order found for given costs, with a lower bound";
inline constexpr std::string_view kSearchedOptions =
    "memory memory_bytes placement split budget tree seed";

// --option k=v of "searched": memory (microbatches in flight) and memory_bytes, one value or one
// per actor separated by '/'; placement (loop, v), split (0, 1), budget, tree, seed. Throws Error
// with every problem.
SearchOptions search_options(const GenerateOptions& options);

// Whether the schedule depends on costs: "searched", or a generator that needs them.
bool is_made_for_costs(std::string_view name);

// --costs or --costs-file for a schedule that is yet to be made, with one stage per actor and
// chunk: nullopt when neither is given, an empty table for sizes that are refused anyway.
std::optional<CostTable> costs_for_sizes(const GenerateOptions& options,
                                         const Arguments& arguments);

// Throws Error for a name that is neither a generator's nor "searched".
void refuse_unknown(std::string_view name);

// A schedule by name: a generator's, or the searched one. Those that are made for costs get the
// command line's, or unit costs where there are none.
struct NamedSchedule {
  Schedule schedule;
  std::optional<SearchResult> search;  // of "searched"; its schedule is moved out
};
// Throws Error for an unknown name, and for options that the schedule does not allow.
NamedSchedule named_schedule(std::string_view name, GenerateOptions options,
                             const Arguments& arguments);

// "searched: 57.600 ms, at least 57.200 ms, gap 0.70 %, eager_1f1b": the result, the proven bound,
// where the search began.
std::string verdict(std::string_view label, const SearchResult& result);
// {"makespan_s", "bound_s", "gap", "origin"}.
nlohmann::ordered_json verdict_json(const SearchResult& result);

}  // namespace penstock
