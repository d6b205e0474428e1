// File: step_end.h. What follows an actor's last op: gradients are summed, norms exchanged, weights
// updated.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/program.h"

namespace penstock {

// The groups asked for, then the mirrored copies of each part.
std::vector<std::vector<std::int32_t>> shared_groups(const Pipeline& pipeline,
                                                     std::vector<std::vector<std::int32_t>> groups);

// Every actor's list ends in the same global order, so that collectives meet. What learns in
// windows does so without the others: no norm is exchanged. Where Verdicts stand in the lists,
// norms are passed along the pipeline. Inference, and what updates inside its order, ends with its
// last op.
void write_step_end(Program& program);

}  // namespace penstock
