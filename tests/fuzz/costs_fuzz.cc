// Costs, as a file and as a word of the command line.
#include "fuzzing.h"
#include "penstock/costs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  penstock::fuzz(data, size, [](std::string_view text) { penstock::parse_costs(text, 3); });
  return penstock::fuzz(data, size, [](std::string_view text) {
    const penstock::CostTable costs = penstock::read_costs(text, "fuzz");
    penstock::require(penstock::read_costs(penstock::write_costs(costs), "fuzz").stages.size() ==
                      costs.stages.size());
  });
}
