#include "penstock/allocation.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace penstock {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestFromHeap = 32 << 20;  // glibc takes no more
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLargestFromHeap);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

}  // namespace penstock
