// File: allocation.h. How a program that evaluates many schedules should treat its memory.
#pragma once

namespace penstock {

// Keeps freed memory in the process instead of giving it back: a large timeline costs as long in
// page faults as in simulation when each run begins with fresh pages (measured for 131,072 ops: 33
// ms against 16 ms). Process-wide, so a program's choice and not a library's: call it first in
// main(). Does nothing where the C library has no such switch.
void keep_freed_memory();

}  // namespace penstock
