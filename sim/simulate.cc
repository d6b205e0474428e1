#include "penstock/simulate.h"

#include "engine.h"
#include "prices.h"
#include "wire.h"

namespace penstock {

Timeline simulate(const Program& program, const CostTable& costs, const SimulateOptions& options) {
  const Prices prices(program, costs, options);
  return Engine(program, prices, make_wire(options.p2p, program)).run();
}

}  // namespace penstock
