// File: synchronization.h. How the actors agree on an optimizer step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

enum class Synchronization : std::uint8_t {
  // All actors exchange their gradient norms, then all update: nobody starts the next step before
  // everybody has ended this one.
  Flush,
  // The zero-bubble papers' post-validation (arXiv 2401.10241, section 4): the norm is summed up
  // along the pipeline, each actor updates by what it knows of it, and learns in the next step's
  // warm-up whether that was right. If not, it rolls back. Same weights, to the bit.
  PostValidation,
};

std::string_view name(Synchronization synchronization);  // "flush", "post_validation"
std::optional<Synchronization> parse_synchronization(std::string_view text);

}  // namespace penstock
