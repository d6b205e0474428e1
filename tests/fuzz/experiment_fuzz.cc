// An experiment, and the schedule and split that it asks for. Files that it names are not there.
#include "fuzzing.h"
#include "penstock/experiment.h"

namespace {

constexpr std::int64_t kMostOps = 1 << 16;  // more only makes a run slow

bool is_small(const penstock::Experiment& experiment) {
  return std::int64_t{experiment.parallel.pipeline} * experiment.parallel.chunks *
             experiment.microbatches() * experiment.schedule.slices <
         kMostOps;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return penstock::fuzz(data, size, [](std::string_view text) {
    const auto experiment = penstock::parse_experiment(text, "/nonexistent/fuzz.json");
    if (is_small(experiment)) penstock::make_schedule(experiment);
  });
}
