// File: whole_model.h. A whole model as one part, with everything that one microbatch needs.
#pragma once

#include <cstdint>
#include <vector>

#include "gradient_check.h"
#include "model/part.h"

namespace penstock::testing {

template <class T>
class WholeModel {
 public:
  // Random values everywhere (norm weights around 1), random tokens.
  WholeModel(const Model& model, int sequences, int tokens)
      : rows_(sequences * tokens),
        parameters_(model, {0, model.layers + 2}),
        part_(model, {0, model.layers + 2}, tokens, rows_, T(1) / T(rows_), parameters_),
        kept_buffer_(part_.kept_values(rows_)),
        gradient_buffer_(part_.gradient_values(rows_)) {
    for (const PartTensor& tensor : parameters_.tensors()) {
      const bool norm = tensor.info.shape.size() == 1 && tensor.info.name.ends_with("weight");
      const auto random = normal_values(tensor.size(), tensor.info.name, 0.3);
      const std::span<T> values = parameters_.values(tensor);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<T>(random[i] + (norm ? 1 : 0));
      }
    }
    part_.carve_kept(kept_buffer_.data(), rows_, kept_);
    part_.carve_gradients(gradient_buffer_.data(), rows_, gradients_);
    for (int i = 0; i < rows_; ++i) {
      ids_.push_back((i * 7 + 3) % model.vocabulary);
      targets_.push_back((i * 5 + 11) % model.vocabulary);
    }
    input_ = {.rows = rows_, .ids = ids_, .targets = targets_, .x = {}};
  }
  WholeModel(const WholeModel&) = delete;

  Parameters<T>& parameters() { return parameters_; }
  std::vector<std::int32_t>& ids() { return ids_; }
  std::vector<std::int32_t>& targets() { return targets_; }

  // Mean over the tokens.
  double loss() { return part_.forward(input_, kept_, {}) / rows_; }
  void backward() {
    part_.backward_input(input_, kept_, gradients_, {}, {});
    part_.backward_weight(input_, kept_, gradients_);
    parameters_.fold_tied();
  }

 private:
  int rows_;
  Parameters<T> parameters_;
  Part<T> part_;
  AlignedVector<T> kept_buffer_;
  AlignedVector<T> gradient_buffer_;
  PartKept<T> kept_;
  PartGradients<T> gradients_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> targets_;
  PartInput<T> input_;
};

}  // namespace penstock::testing
