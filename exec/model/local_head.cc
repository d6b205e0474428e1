#include "model/local_head.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace penstock {
namespace {

// "transformer.h.0.ln_1.weight" behind "transformer.h.0.": "ln_1.weight".
std::string behind(const std::string& name, const std::string& last_of_prefix) {
  return name.substr(name.rfind(last_of_prefix) + last_of_prefix.size());
}

}  // namespace

std::vector<ModelTensor> local_head_tensors(const Model& model, AuxHead kind, std::int32_t layers) {
  const std::string prefix = fmt::format("aux.{}.", layers);
  const std::int64_t h = model.hidden;
  std::vector<ModelTensor> tensors;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
    const bool is_matrix = shape.size() > 1;
    tensors.push_back({.name = prefix + name,
                       .shape = std::move(shape),
                       .block = local_head_block(model),
                       .decayed = is_matrix});
  };
  const std::vector<ModelTensor> all = model_tensors(model);
  if (kind == AuxHead::Block) {  // as the model's first layer
    for (const ModelTensor& tensor : all) {
      if (tensor.block == 1) add("block." + behind(tensor.name, ".0."), tensor.shape);
    }
  }
  if (kind == AuxHead::Mlp) {
    add("hidden.weight", {h, h});
    if (model.linear_bias) add("hidden.bias", {h});
  }
  for (const ModelTensor& tensor : all) {  // as the model's last norm
    const bool is_norm = tensor.block == model.layers + 1 && tensor.shape.size() == 1;
    if (is_norm)
      add(behind(tensor.name, model.family == Family::Gpt2 ? "transformer." : "model."),
          tensor.shape);
  }
  add("lm_head.weight", {model.vocabulary, h});
  return tensors;
}

}  // namespace penstock
