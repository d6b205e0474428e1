#include "penstock/synchronization.h"

namespace penstock {

std::string_view name(Synchronization synchronization) {
  return synchronization == Synchronization::Flush ? "flush" : "post_validation";
}

std::optional<Synchronization> parse_synchronization(std::string_view text) {
  for (const auto synchronization : {Synchronization::Flush, Synchronization::PostValidation}) {
    if (text == name(synchronization)) return synchronization;
  }
  return std::nullopt;
}

}  // namespace penstock
