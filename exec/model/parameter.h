// File: parameter.h. Where one weight tensor of a layer lives.
#pragma once

#include <cstddef>

namespace penstock {

// A view into the arrays of Parameters that are in use (model/parameters.h). Absent: a bias that a
// model lacks. The gradient accumulates: it belongs to this use of the tensor alone, so that a tied
// embedding has one accumulator where it is looked up and one in the head.
template <class T>
class Parameter {
 public:
  Parameter() = default;
  // `values` and `gradients` say where those begin that are in use, and may change; they outlive
  // the view. Null gradients: not learnt.
  Parameter(const T* const* values, T* const* gradients, std::size_t value_offset,
            std::size_t gradient_offset)
      : values_(values),
        gradients_(gradients),
        value_offset_(value_offset),
        gradient_offset_(gradient_offset) {}

  // Null when absent.
  const T* value() const { return values_ == nullptr ? nullptr : *values_ + value_offset_; }
  T* gradient() const { return gradients_ == nullptr ? nullptr : *gradients_ + gradient_offset_; }

 private:
  const T* const* values_ = nullptr;
  T* const* gradients_ = nullptr;
  std::size_t value_offset_ = 0;
  std::size_t gradient_offset_ = 0;
};

}  // namespace penstock
