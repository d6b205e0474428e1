// File: tensor_list.h. Collects the tensors of one block under one prefix.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "penstock/model.h"

namespace penstock {

class TensorList {
 public:
  TensorList(std::vector<ModelTensor>& tensors, std::string prefix, std::int32_t block)
      : tensors_(tensors), prefix_(std::move(prefix)), block_(block) {}

  void add(const std::string& name, std::vector<std::int64_t> shape) const {
    const bool is_matrix = shape.size() > 1;
    tensors_.push_back({prefix_ + name, std::move(shape), block_, is_matrix});
  }

  // The tensors below "`folder`." of the same block.
  TensorList below(const std::string& folder) const {
    return {tensors_, prefix_ + folder + ".", block_};
  }

 private:
  std::vector<ModelTensor>& tensors_;
  std::string prefix_;
  std::int32_t block_;
};

}  // namespace penstock
