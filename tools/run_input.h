// File: run_input.h. The run of another program that the command line names.
#pragma once

#include <string>

#include "command_line.h"
#include "penstock/kineto.h"

namespace penstock {

// --from kineto: the positional files are the traces of all ranks of one run, of which --step and
// --align choose a step and its clocks. --from sailsg: one file of scheduled nodes with their
// times. `name` becomes the schedule's and the timeline's. Throws Error with every problem of every
// file, UsageError for another --from and options that are not for it.
ImportedStep read_run(const Arguments& arguments, const std::string& name);

// Throws UsageError when --step or --align is given.
void refuse_options_of_kineto(const Arguments& arguments);

// What a reader should know, on standard error.
void tell_notes(const ImportedStep& step);

}  // namespace penstock
