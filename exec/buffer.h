// File: buffer.h. Memory for tensors: aligned to a cache line, its pages touched when it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

namespace penstock {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t floats)
      : data_(new (kAlign) float[static_cast<std::size_t>(floats)]()),
        size_(static_cast<std::size_t>(floats)) {}
  Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { ::operator delete[](data_, kAlign); }

  std::span<float> floats() const { return {data_, size_}; }
  std::span<float> floats(std::int64_t count) const {
    return floats().first(static_cast<std::size_t>(count));
  }

 private:
  static constexpr std::align_val_t kAlign{64};
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

// For what is being sent when a run fails: a send that is under way cannot be cancelled and may
// still be read, so the memory stays until the process ends. Thread-safe.
void leave_to_sends(std::vector<Buffer> buffers);

}  // namespace penstock
