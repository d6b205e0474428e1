#include "wire.h"

#include <cassert>

#include "async_wire.h"
#include "rendezvous_wire.h"
#include "stream_wire.h"

namespace penstock {

std::unique_ptr<Wire> make_wire(P2p mode, const Program& program) {
  switch (mode) {
    case P2p::Async:
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
