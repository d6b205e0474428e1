// File: rendezvous.h. Would a program get stuck if every transfer were a rendezvous?
#pragma once

#include <cstdint>

#include "penstock/program.h"

namespace penstock {

// How an actor waits for its transfers when a transfer ends only once both ends are at it.
enum class Rendezvous : std::uint8_t {
  OneByOne,  // each transfer is waited for before the next action
  Grouped,   // a run of neighbouring transfers starts together and is waited for as one
             // (ncclGroup, batch_isend_irecv)
};

// True when every transfer of the program takes place. Linear time.
bool meets(const Program& program, Rendezvous rendezvous);

}  // namespace penstock
