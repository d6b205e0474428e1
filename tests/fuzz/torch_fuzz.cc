// A torch table in either grammar: the table comes out as it went in, and torch's passes take or
// refuse it.
#include "fuzzing.h"
#include "penstock/formats.h"

using penstock::TorchGrammar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto grammar = static_cast<TorchGrammar>(data[0] % 3);
  return penstock::fuzz(data + 1, size - 1, [&](std::string_view text) {
    const auto table = penstock::read_torch(text, "fuzz", grammar);
    penstock::require(
        penstock::read_torch(penstock::write_torch(table), "fuzz", TorchGrammar::Current) == table);
    penstock::convert_schedule(text, "fuzz", {}, penstock::Format::Json);
    penstock::convert_merged(text, "fuzz", {}, penstock::Format::TorchFsdp);
    penstock::add_send_recv(table);
  });
}
