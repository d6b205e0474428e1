// File: readers.h. One reader and one writer per schedule format, and what they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.h"
#include "penstock/formats.h"
#include "penstock/program.h"
#include "penstock/schedule.h"

namespace penstock {

// No file makes a reader allocate more than this many actors, stages, microbatches or slices.
inline constexpr std::int32_t kMostItems = 1'000'000;

Schedule read_schedule_json(std::string_view content, const std::string& where);
std::string write_schedule_json(const Schedule& schedule);

Schedule read_schedule_text(std::string_view content, const std::string& where);
std::string write_schedule_text(const Schedule& schedule);

Schedule read_schedule_sailsg(std::string_view content, const std::string& where);
std::string write_schedule_sailsg(const Schedule& schedule);

// `where` names the file.
Schedule schedule_of(const TorchTable& table, const std::string& where);
bool has_transfers(const TorchTable& table);
// The program whose actors send and receive where the table does, without step end. Throws Error
// with what is missing, repeated, out of place, or of no use. REQUIRES: the schedule is the
// table's, and check() finds no fault in it.
Program program_of(const TorchTable& table, const Schedule& schedule, const std::string& where);
// Without blanks. Throws Error when a torch table cannot hold the schedule.
TorchTable torch_table_of(const Schedule& schedule, Format format);

// One entry of an order, "3F5" or "(0F1;7B3)": one step or two; empty when `text` is neither.
std::vector<Step> parse_entry(std::string_view text);
inline constexpr std::string_view kEntryHint =
    "3F5 is the forward of stage 3, microbatch 5; (0F1;7B3) is an overlapped pair";

// At most 40 characters of `text`, without control characters: what a message can quote.
std::string shortened(std::string_view text);

// The entries of an actor's order, in order. Throws Error where an overlapping step has no step of
// its own to pair with.
std::vector<std::string> entries(const Schedule& schedule, std::size_t actor);

// Whether the op's numbers are below kMostItems.
bool is_within_limits(const Op& op);
// "0F1000000: stages, microbatches and slices end at 999999"
std::string limits_message(const Op& op);

// A schedule from its order alone, as text and torch's tables store it: stage s sits on the actor
// that runs it (most often, if several do: check() then names the strays), part = stage, one route
// over the stages in order, microbatches = highest + 1, slices likewise. Adds to `problems` what
// cannot be derived. `where` is the file.
Schedule schedule_from_order(std::vector<std::vector<Step>> order, const std::string& where,
                             std::vector<Problem>& problems);

// Throws Error with the reason when schedule_from_order would not give `schedule` back.
void refuse_unless_derivable(const Schedule& schedule, Format format);

}  // namespace penstock
