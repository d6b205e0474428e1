// A schedule in JSON: what is read is written and read back, and check() survives it.
#include "fuzzing.h"
#include "penstock/check.h"
#include "penstock/formats.h"
#include "penstock/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return penstock::fuzz(data, size, [](std::string_view text) {
    const auto schedule = penstock::read_schedule(text, "fuzz", penstock::Format::Json);
    const std::string written = penstock::write_schedule(schedule, penstock::Format::Json);
    const auto again = penstock::read_schedule(written, "fuzz", penstock::Format::Json);
    penstock::require(again.order == schedule.order && again.pipeline == schedule.pipeline);
    if (penstock::check(schedule).empty()) penstock::lower(schedule);
  });
}
