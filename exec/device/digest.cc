#include "device/digest.h"

#include <array>
#include <bit>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "penstock/error.h"

namespace penstock {

std::string sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw RunError("parameters hash", "libcrypto refuses SHA-256");
  }
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string sha256(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little);
  return sha256(std::as_bytes(values));
}

}  // namespace penstock
