#include "members.h"
#include "zb_search.h"

namespace penstock {

// The search with the memory of 1f1b's first actor.
Schedule zb_1p(const GenerateOptions& options) {
  return search_zero_bubble("zb_1p", options, options.actors);
}

}  // namespace penstock
