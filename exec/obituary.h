// File: obituary.h. When a process of the run dies, say what everybody was doing.
#pragma once

#include "transport/board.h"

namespace penstock {

// mpirun answers a death with SIGTERM to the survivors. While the object lives, the first of them
// prints the dead actor and every actor's current action, and ends; the others end silently. A
// SIGTERM without a death just ends the process. One object per process at a time.
class Obituary {
 public:
  // REQUIRES: both outlive the object; `names` no longer changes once actors work.
  Obituary(Board& board, const ActionNames& names);
  ~Obituary();
  Obituary(const Obituary&) = delete;
  Obituary& operator=(const Obituary&) = delete;
};

}  // namespace penstock
