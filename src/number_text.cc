#include "penstock/number_text.h"

#include <algorithm>

namespace penstock {

std::optional<std::int32_t> take_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number<std::int32_t>(text.substr(0, digits));
  if (number) text.remove_prefix(digits);
  return number;
}

}  // namespace penstock
