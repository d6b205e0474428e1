// A Hugging Face config.json: sizes that are read can be multiplied.
#include "fuzzing.h"
#include "penstock/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return penstock::fuzz(data, size, [](std::string_view text) {
    penstock::require(penstock::parameters(penstock::read_model(text, "fuzz")) > 0);
  });
}
