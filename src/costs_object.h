// File: costs_object.h. The costs format as an object of a larger document.
#pragma once

#include "json_reader.h"
#include "penstock/costs.h"

namespace penstock {

// What read_costs() reads, from `object`. Problems go to the reader, at their places.
CostTable costs_from_object(const JsonReader& object);

// The same with "uniform", one stage for all, where the format has "stages": a table of that stage.
CostTable uniform_costs_from_object(const JsonReader& object);

}  // namespace penstock
