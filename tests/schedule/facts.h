// File: facts.h. What must hold of every schedule and program, checked the slow and obvious way.
#pragma once

#include <string>
#include <vector>

#include "penstock/program.h"

namespace penstock {

// Whether every op that the pipeline asks for runs once, on its stage's actor, in an order that
// gets through when each actor runs its steps as soon as their inputs are there. Sets and repeated
// passes; nothing in common with check() but the dependency rule.
// REQUIRES: a well-formed pipeline.
bool can_run(const Schedule& schedule);

// What is wrong with a program: its computes are the schedule's and in an order that respects the
// dependencies, each dependency between actors is one message with matching ends, each message is
// sent once right after its producer and received once before its consumer, channels are numbered
// in sending order.
std::vector<std::string> faults(const Program& program);

}  // namespace penstock
