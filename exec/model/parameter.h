// File: parameter.h. Where one weight tensor of a layer lives.
#pragma once

namespace penstock {

// Views into the part's flat arrays (model/parameters.h). Null for a bias that a model lacks.
// `gradient` accumulates: it belongs to this use of the tensor alone, so that a tied embedding has
// one accumulator where it is looked up and one in the head.
template <class T>
struct Parameter {
  const T* value = nullptr;
  T* gradient = nullptr;
};

}  // namespace penstock
