// File: trials_input.h. Which schedules `simulate --schedule a,b,c` puts side by side, at which
// sizes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_line.h"
#include "penstock/generate.h"
#include "penstock/trials.h"

namespace penstock {

// An entry of the list: a name with what it asks for beyond the common sizes, each after a colon:
//   interleaved_1f1b:chunks=2:group=8
struct ScheduleRequest {
  std::string label;  // as typed
  std::string name;
  GenerateOptions options;
};

// --schedule with --actors, --microbatches, --option, ..: at least one. Throws UsageError.
std::vector<ScheduleRequest> schedule_requests(const Arguments& arguments);

// --sweep: "8,16,32", or "4:64" doubling, or "4:64:4" in steps; ascending. --microbatches where it
// is left out. Throws UsageError.
std::vector<std::int32_t> microbatch_counts(const Arguments& arguments);

struct TrialRuns {
  Trials trials;
  std::vector<Problem> problems;  // of the requests that no size suits
};

// Runs each request at each count; what `simulate` returns is read before it is called again. A
// schedule that refuses a size says why in its trial. Throws Error when nothing runs.
TrialRuns run_trials(const std::vector<ScheduleRequest>& requests,
                     const std::vector<std::int32_t>& counts,
                     const std::function<const Timeline&(const ScheduleRequest&)>& simulate);

}  // namespace penstock
