// File: console.h. What people see: standard output, standard error, colour.
#pragma once

#include <string_view>

namespace penstock {

// To standard output. Exits quietly when the reader is gone (`penstock ... | head`); throws
// RunError when it cannot be written (a full disk).
void say(std::string_view text);

// To standard error, with a newline if it has none. Under mpirun rank 0 alone complains about the
// input, which every rank reads alike: others first give it time to end them all, and speak only if
// it has not (a file that one host lacks).
void complain(std::string_view text);

// True when standard output is a terminal that takes colour: NO_COLOR unset, TERM not "dumb".
bool color_output();

// One line of progress on standard error. On a terminal each replaces the one before, until
// something else is said; elsewhere (a file, a log) each is a line.
void progress(std::string_view line);

// This process's rank under mpirun, 0 without it: what the launcher's environment says, before MPI
// itself is started.
int launched_rank();

}  // namespace penstock
