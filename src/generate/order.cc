#include "order.h"

#include <utility>
#include <vector>

#include "option.h"

namespace penstock {

void refuse_chunks(const char* name, const GenerateOptions& options) {
  std::vector<Problem> problems;
  check_chunks(name, options, {1}, problems);
  throw_if_any(std::move(problems));
}

}  // namespace penstock
