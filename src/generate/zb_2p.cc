#include "members.h"
#include "zb_search.h"

namespace penstock {

// The search with twice the memory of 1f1b's first actor, which is enough to fill every gap where
// F, I and W take about the same.
Schedule zb_2p(const GenerateOptions& options) {
  return search_zero_bubble("zb_2p", options, 2 * options.actors);
}

}  // namespace penstock
