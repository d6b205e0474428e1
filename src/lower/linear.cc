#include "lower/place.h"

namespace penstock {

// lower() has written it so.
void place_linear(Program&) {}

}  // namespace penstock
