// The entry of the search's module: see load_search() in search.h.
#include "penstock/search.h"

extern "C" penstock::Search* penstock_search() {
  return &penstock::search;
}
