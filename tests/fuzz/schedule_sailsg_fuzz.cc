// Scheduled nodes: what is read is written and read back, their times as a trace.
#include "fuzzing.h"
#include "penstock/check.h"
#include "penstock/formats.h"
#include "penstock/scheduled_nodes.h"
#include "penstock/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return penstock::fuzz(data, size, [](std::string_view text) {
    using penstock::Format;
    const auto schedule = penstock::read_schedule(text, "fuzz", Format::SailSg);
    penstock::check(schedule);
    const std::string written = penstock::write_schedule(schedule, Format::SailSg);
    penstock::require(penstock::read_schedule(written, "fuzz") == schedule);
    const penstock::Timeline timeline = penstock::import_nodes(text, "fuzz").timeline;
    penstock::require(penstock::read_trace(penstock::write_trace(timeline), "again") == timeline);
  });
}
