#include "penstock/simulate.h"

namespace penstock {
namespace {
constexpr std::string_view kNames[] = {"async", "single_stream", "blocking"};
}  // namespace

std::string_view name(P2p mode) {
  return kNames[static_cast<std::size_t>(mode)];
}

std::optional<P2p> parse_p2p(std::string_view text) {
  for (const P2p mode : {P2p::Async, P2p::SingleStream, P2p::Blocking}) {
    if (text == name(mode)) return mode;
  }
  return std::nullopt;
}

}  // namespace penstock
