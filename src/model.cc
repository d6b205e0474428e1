#include "penstock/model.h"

#include <functional>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

using Shape = std::vector<std::int64_t>;

// Collects the tensors of one block under one prefix.
class TensorList {
 public:
  TensorList(std::vector<ModelTensor>& tensors, std::string prefix, std::int32_t block)
      : tensors_(tensors), prefix_(std::move(prefix)), block_(block) {}

  void add(const std::string& name, Shape shape) {
    const bool is_matrix = shape.size() > 1;
    tensors_.push_back({prefix_ + name, std::move(shape), block_, is_matrix});
  }

 private:
  std::vector<ModelTensor>& tensors_;
  std::string prefix_;
  std::int32_t block_;
};

void add_gpt2_layer(const Model& model, TensorList list) {
  const std::int64_t h = model.hidden;
  const auto norm = [&](const std::string& name) {
    list.add(name + ".weight", {h});
    list.add(name + ".bias", {h});
  };
  const auto projection = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    list.add(name + ".weight", {in, out});
    list.add(name + ".bias", {out});
  };
  norm("ln_1");
  projection("attn.c_attn", h, 3 * h);
  projection("attn.c_proj", h, h);
  norm("ln_2");
  projection("mlp.c_fc", h, model.ffn);
  projection("mlp.c_proj", model.ffn, h);
}

void add_llama_layer(const Model& model, TensorList list) {
  const std::int64_t h = model.hidden;
  const std::int64_t query = std::int64_t{model.heads} * model.head_size;
  const std::int64_t key = std::int64_t{model.kv_heads} * model.head_size;
  list.add("input_layernorm.weight", {h});
  list.add("self_attn.q_proj.weight", {query, h});
  list.add("self_attn.k_proj.weight", {key, h});
  list.add("self_attn.v_proj.weight", {key, h});
  list.add("self_attn.o_proj.weight", {h, query});
  list.add("post_attention_layernorm.weight", {h});
  list.add("mlp.gate_proj.weight", {model.ffn, h});
  list.add("mlp.up_proj.weight", {model.ffn, h});
  list.add("mlp.down_proj.weight", {h, model.ffn});
}

}  // namespace

std::int64_t ModelTensor::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<ModelTensor> model_tensors(const Model& model) {
  const bool is_gpt2 = model.family == Family::Gpt2;
  const std::string root = is_gpt2 ? "transformer." : "model.";
  const std::int64_t h = model.hidden;
  std::vector<ModelTensor> tensors;
  TensorList embedding(tensors, root, 0);
  embedding.add(is_gpt2 ? "wte.weight" : "embed_tokens.weight", {model.vocabulary, h});
  if (is_gpt2) embedding.add("wpe.weight", {model.max_positions, h});
  for (std::int32_t i = 0; i < model.layers; ++i) {
    const std::string prefix = root + (is_gpt2 ? "h." : "layers.") + std::to_string(i) + ".";
    const TensorList layer(tensors, prefix, 1 + i);
    is_gpt2 ? add_gpt2_layer(model, layer) : add_llama_layer(model, layer);
  }
  TensorList last(tensors, root, model.layers + 1);
  last.add(is_gpt2 ? "ln_f.weight" : "norm.weight", {h});
  if (is_gpt2) last.add("ln_f.bias", {h});
  if (!model.tied_embeddings) {
    TensorList(tensors, "", model.layers + 1).add("lm_head.weight", {model.vocabulary, h});
  }
  return tensors;
}

std::int64_t parameters(const Model& model) {
  std::int64_t sum = 0;
  for (const ModelTensor& tensor : model_tensors(model)) sum += tensor.size();
  return sum;
}

}  // namespace penstock
