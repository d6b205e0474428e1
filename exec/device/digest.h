// File: digest.h. SHA-256.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace penstock {

// Hex, 64 characters.
std::string sha256(std::span<const std::byte> bytes);

// Of the values as fp32 little-endian.
std::string sha256(std::span<const float> values);

}  // namespace penstock
