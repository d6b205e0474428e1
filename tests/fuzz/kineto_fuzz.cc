// A trace of torch's profiler, as a run of one rank: what is imported is a trace that can be read,
// and a schedule that can be written.
#include "fuzzing.h"
#include "penstock/formats.h"
#include "penstock/kineto.h"
#include "penstock/metrics.h"
#include "penstock/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return penstock::fuzz(data, size, [](std::string_view text) {
    const auto step = penstock::import_step({penstock::read_kineto(text, "fuzz")}, {.align = true});
    penstock::require(penstock::read_trace(penstock::write_trace(step.timeline), "fuzz") ==
                      step.timeline);
    penstock::measure(step.timeline);
    penstock::write_schedule(step.schedule, penstock::Format::Text);
  });
}
