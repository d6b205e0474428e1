#include "order.h"

#include <fmt/format.h>

#include "penstock/error.h"

namespace penstock {

void refuse_chunks(const char* name, const GenerateOptions& options) {
  if (options.chunks == 1) return;
  throw Error("chunks", fmt::format("{} has one stage per actor, not {}", name, options.chunks),
              "interleaved_1f1b, looped_bfs and interleaved_zb1p take several");
}

}  // namespace penstock
