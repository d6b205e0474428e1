// A trace file: what is read is written and read back, measured and drawn.
#include "fuzzing.h"
#include "penstock/draw.h"
#include "penstock/metrics.h"
#include "penstock/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return penstock::fuzz(data, size, [](std::string_view text) {
    const penstock::Timeline timeline = penstock::read_trace(text, "fuzz");
    penstock::require(penstock::read_trace(penstock::write_trace(timeline), "fuzz") == timeline);
    penstock::measure(timeline);
    penstock::draw(timeline, {.columns = 80, .color = true});
    penstock::draw_svg(timeline);
  });
}
