// The token file readers on arbitrary bytes: an Error or a layout that lies inside the file.
#include <cassert>
#include <span>

#include "data/token_layout.h"
#include "penstock/error.h"

using penstock::TokenLayout;

namespace {

template <class Read>
void inside(std::span<const std::byte> file, Read read) {
  try {
    const TokenLayout layout = read();
    assert(layout.offset <= file.size() && "tokens start inside the file");
    assert(layout.count <= (file.size() - layout.offset) / penstock::token_bytes(layout.type) &&
           "tokens end inside the file");
  } catch (const penstock::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
  // The first two bytes choose the token width and where Megatron's .bin begins.
  const std::size_t cut = bytes.size() * data[1] / 256;
  const auto index = bytes.first(bytes.size() - cut);
  const auto tokens = bytes.last(cut);
  inside(bytes, [&] { return penstock::llmc_layout(bytes, "fuzz.bin"); });
  inside(bytes, [&] { return penstock::headerless_layout(bytes, data[0] % 6, "fuzz.bin"); });
  inside(tokens, [&] { return penstock::megatron_layout(index, tokens, "fuzz.idx"); });
  return 0;
}
