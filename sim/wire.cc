#include "wire.h"

#include <cassert>

#include <fmt/format.h>

#include "async_wire.h"
#include "rendezvous_wire.h"
#include "shared_wire.h"
#include "stream_wire.h"

namespace penstock {

std::unique_ptr<Wire> make_wire(P2p mode, const Program& program, const CostTable& costs) {
  if (mode != P2p::Async && !costs.links.empty()) {
    throw Error("costs", fmt::format("p2p mode {} does not share links", name(mode)),
                "async does; or leave the links out");
  }
  switch (mode) {
    case P2p::Async:
      if (!costs.links.empty()) return std::make_unique<SharedWire>(program, costs);
      return std::make_unique<AsyncWire>(program.actions.size());
    case P2p::SingleStream:
      return std::make_unique<StreamWire>(program);
    case P2p::Blocking:
      return std::make_unique<RendezvousWire>(program);
  }
  assert(false && "all modes are listed");
  return nullptr;
}

}  // namespace penstock
