// File: memory_need.h. Whether a run fits into memory, known before anything is allocated.
#pragma once

#include <cstdint>

#include "penstock/execute.h"
#include "transport/transport.h"

namespace penstock {

// Bytes that `actor` needs at least: values, gradients and both moments of its stages, and what its
// blocks put out, kept for every slice in flight. 0 for the sleep device. A double, as absurd
// sizes must not overflow.
double least_bytes(const RunPlan& plan, std::int32_t actor);

// Collective. Throws an Error when the actors on some host need more memory than is free there: the
// kernel would not refuse, but kill some process later.
void require_memory(const RunPlan& plan, Transport& transport);

}  // namespace penstock
