// A layout string: what is read is written and read back.
#include "fuzzing.h"
#include "penstock/split.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  penstock::Model model;
  model.layers = data[0];
  model.mtp_depth = data[0] % 3;
  return penstock::fuzz(data + 1, size - 1, [&](std::string_view text) {
    const penstock::Split split = penstock::parse_layout(text, model);
    penstock::require(
        penstock::parse_layout(penstock::write_layout(split, model.mtp_depth), model) == split);
  });
}
