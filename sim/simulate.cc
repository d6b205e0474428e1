#include "penstock/simulate.h"

#include "engine.h"
#include "prices.h"
#include "steady_step.h"
#include "wire.h"

namespace penstock {

Timeline simulate(const Program& program, const CostTable& costs, const SimulateOptions& options) {
  const Prices prices(program, costs, options);
  const auto engine = [&] {
    return Engine(program, prices, make_wire(options.p2p, program, costs));
  };
  return has_verdict(program) ? steady_step(engine) : engine().run();
}

}  // namespace penstock
