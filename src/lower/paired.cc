#include "lower/place.h"
#include "rendezvous.h"

namespace penstock {

void place_paired(Program& program) {
  std::vector<std::vector<Action>> linear = program.actions;
  place_naive(program);
  if (!meets(program, Rendezvous::Grouped)) program.actions = std::move(linear);
}

}  // namespace penstock
