// File: mapped_file.h. A whole file in memory, read only.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace penstock {

// Mapped, not copied: token files may be larger than memory.
class MappedFile {
 public:
  MappedFile() = default;
  // Throws Error with the system's reason when `path` cannot be read or is no regular file.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace penstock
