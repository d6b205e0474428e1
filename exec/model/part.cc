#include "model/part.h"

#include <algorithm>
#include <cmath>

namespace penstock {

namespace {

// Per position: cosines, then sines, of position / theta^(2i / head_size) (rotary.h).
template <class T>
AlignedVector<T> make_rotary_table(const Model& model, int tokens) {
  if (model.positions != Positions::Rotary) return {};
  const int half = model.head_size / 2;
  AlignedVector<T> table;
  table.reserve(static_cast<std::size_t>(tokens * model.head_size));
  for (int position = 0; position < tokens; ++position) {
    std::vector<double> angles(static_cast<std::size_t>(half));
    for (int i = 0; i < half; ++i) {
      angles[static_cast<std::size_t>(i)] =
          position / std::pow(model.rope_theta, 2.0 * i / model.head_size);
    }
    for (const double angle : angles) table.push_back(static_cast<T>(std::cos(angle)));
    for (const double angle : angles) table.push_back(static_cast<T>(std::sin(angle)));
  }
  return table;
}

template <class T>
NormLayer<T> make_norm(const Model& model, Parameter<T> weight, Parameter<T> bias) {
  return {.kind = model.norm,
          .epsilon = static_cast<T>(model.norm_epsilon),
          .weight = weight,
          .bias = bias};
}

// Finds the linear layers of one block by Hugging Face's names.
template <class T>
struct BlockFinder {
  Parameters<T>& parameters;
  std::int32_t block;
  WeightLayout layout;

  Parameter<T> operator()(const std::string& suffix) const {
    return parameters.find(block, suffix);
  }
  Linear<T> linear(const std::string& name, int in, int out) const {
    return {.in = in,
            .out = out,
            .layout = layout,
            .weight = (*this)(name + ".weight"),
            .bias = (*this)(name + ".bias")};
  }
};

}  // namespace

template <class T>
Part<T>::Part(const Model& model, BlockRange blocks, int tokens, std::span<const TokenSlice> slices,
              T gradient_scale, Parameters<T>& parameters, const PartOptions& options)
    : hidden_(model.hidden),
      tokens_(tokens),
      gradient_scale_(gradient_scale),
      recompute_(options.recompute),
      sliced_(std::ranges::any_of(slices, [](const TokenSlice& slice) { return slice.first > 0; })),
      rotary_table_(make_rotary_table<T>(model, tokens)) {
  const bool gpt2 = model.family == Family::Gpt2;
  for (std::int32_t block = blocks.first; block < blocks.end; ++block) {
    if (block == 0) {
      embedding_ =
          Embedding<T>{.token = parameters.find(0, gpt2 ? "wte.weight" : "embed_tokens.weight"),
                       .position = parameters.find(0, "wpe.weight")};
    } else if (block <= model.layers) {
      blocks_.push_back(make_block(model, block, parameters));
    } else {
      head_ = Head<T>{
          .norm = make_norm(model, parameters.find(block, gpt2 ? "ln_f.weight" : "norm.weight"),
                            parameters.find(block, "ln_f.bias")),
          .linear = {.in = model.hidden,
                     .out = model.vocabulary,
                     .layout = WeightLayout::OutIn,
                     .weight = parameters.head_weight(),
                     .bias = {}}};
    }
  }
  if (options.local_head) {
    local_head_ = make_local_head(model, *options.local_head, parameters);
  }
  std::size_t scratch = 0;
  for (const TokenSlice& slice : slices) {
    if (!blocks_.empty()) scratch = std::max(scratch, blocks_[0].scratch_values(slice));
    if (!local_head_ || !local_head_->block) continue;
    scratch = std::max(scratch, local_head_->block->scratch_values(slice));
  }
  scratch_.assign(scratch, T(0));
}

template <class T>
TransformerBlock<T> Part<T>::make_block(const Model& model, std::int32_t block,
                                        Parameters<T>& parameters) const {
  const bool gpt2 = model.family == Family::Gpt2;
  const BlockFinder<T> find{parameters, block, gpt2 ? WeightLayout::InOut : WeightLayout::OutIn};
  const int hidden = model.hidden;
  const int queries = model.heads * model.head_size;
  const int keys = model.kv_heads * model.head_size;
  TransformerBlock<T> made;
  made.attention = {.heads = model.heads, .kv_heads = model.kv_heads, .head_size = model.head_size};
  made.rotary_table = rotary_table_.empty() ? nullptr : rotary_table_.data();
  made.activation = model.activation;
  made.gated = model.gated_mlp;
  if (gpt2) {
    made.attention_norm = make_norm(model, find("ln_1.weight"), find("ln_1.bias"));
    made.qkv.members = {find.linear("attn.c_attn", hidden, queries + 2 * keys)};
    made.attention_out = find.linear("attn.c_proj", queries, hidden);
    made.mlp_norm = make_norm(model, find("ln_2.weight"), find("ln_2.bias"));
    made.up.members = {find.linear("mlp.c_fc", hidden, model.ffn)};
    made.down = find.linear("mlp.c_proj", model.ffn, hidden);
  } else {
    made.attention_norm = make_norm<T>(model, find("input_layernorm.weight"), {});
    made.qkv.members = {find.linear("self_attn.q_proj", hidden, queries),
                        find.linear("self_attn.k_proj", hidden, keys),
                        find.linear("self_attn.v_proj", hidden, keys)};
    made.attention_out = find.linear("self_attn.o_proj", queries, hidden);
    made.mlp_norm = make_norm<T>(model, find("post_attention_layernorm.weight"), {});
    if (model.gated_mlp) made.up.members = {find.linear("mlp.gate_proj", hidden, model.ffn)};
    made.up.members.push_back(find.linear("mlp.up_proj", hidden, model.ffn));
    made.down = find.linear("mlp.down_proj", model.ffn, hidden);
  }
  return made;
}

template <class T>
LocalHead<T> Part<T>::make_local_head(const Model& model, AuxHead kind,
                                      Parameters<T>& parameters) const {
  const bool gpt2 = model.family == Family::Gpt2;
  const std::int32_t block = local_head_block(model);
  const BlockFinder<T> find{parameters, block, WeightLayout::OutIn};
  LocalHead<T> made;
  made.activation = model.activation;
  if (kind == AuxHead::Block) made.block = make_block(model, block, parameters);
  if (kind == AuxHead::Mlp) made.hidden = find.linear("hidden", model.hidden, model.hidden);
  made.head = {
      .norm = make_norm(model, find(gpt2 ? "ln_f.weight" : "norm.weight"), find("ln_f.bias")),
      .linear = find.linear("lm_head", model.hidden, model.vocabulary)};
  return made;
}

template <class T>
void Part<T>::carve(Carver<T>& lasting, Carver<T>& remade, const TokenSlice& slice,
                    PartKept<T>& layout) const {
  const bool full = recompute_ == RecomputeChoice::Full;
  Carver<T>& rest = full ? remade : lasting;
  const KeptCarvers<T> carvers{.cheap = recompute_ == RecomputeChoice::None ? lasting : remade,
                               .cache = sliced_ ? lasting : rest,
                               .rest = rest};
  layout.blocks.clear();
  layout.outputs.clear();
  std::size_t outputs = blocks_.size() + (is_first() ? 1 : 0);
  if (!has_loss() && outputs > 0) --outputs;
  for (const TransformerBlock<T>& block : blocks_) {
    layout.blocks.push_back(block.carve_kept(carvers, slice));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    layout.outputs.push_back(rest.take(slice.rows(), hidden_));
  }
  if (head_) layout.head = head_->carve_kept(rest, slice.rows());
  if (local_head_) layout.local_head = local_head_->carve_kept(carvers, slice);
}

template <class T>
void Part<T>::carve(Carver<T>& carver, const TokenSlice& slice, PartGradients<T>& layout) const {
  const int rows = slice.rows();
  layout.blocks.clear();
  if (embedding_) layout.embedded = carver.take(rows, hidden_);
  for (const TransformerBlock<T>& block : blocks_) {
    layout.blocks.push_back(block.carve_gradients(carver, rows));
  }
  if (head_) layout.head = head_->carve_gradients(carver, rows);
  if (local_head_) layout.local_head = local_head_->carve_gradients(carver, rows);
}

template <class T>
KeptValues Part<T>::kept_values(const TokenSlice& slice) const {
  Carver<T> lasting;
  Carver<T> remade;
  PartKept<T> layout;
  carve(lasting, remade, slice, layout);
  return {.lasting = lasting.taken(), .remade = remade.taken()};
}

template <class T>
std::size_t Part<T>::gradient_values(const TokenSlice& slice) const {
  Carver<T> carver;
  PartGradients<T> layout;
  carve(carver, slice, layout);
  return carver.taken();
}

template <class T>
void Part<T>::carve_kept(T* lasting, T* remade, const TokenSlice& slice,
                         PartKept<T>& layout) const {
  Carver<T> lasting_carver(lasting);
  Carver<T> remade_carver(remade);
  carve(lasting_carver, remade_carver, slice, layout);
}

template <class T>
std::size_t Part<T>::carve_gradients(T* buffer, const TokenSlice& slice,
                                     PartGradients<T>& layout) const {
  Carver<T> carver(buffer);
  carve(carver, slice, layout);
  return carver.taken();
}

template <class T>
Matrix<const T> Part<T>::input_of(std::size_t i, const PartInput<T>& input,
                                  const PartKept<T>& kept) const {
  const std::size_t before = is_first() ? i + 1 : i;  // pieces of this part before block i
  return before == 0 ? input.x : Matrix<const T>(kept.outputs[before - 1]);
}

template <class T>
EarlierSlices<T> Part<T>::earlier_of(std::size_t i, const PartInput<T>& input) {
  earlier_qkv_.clear();
  for (const PartKept<T>* kept : input.earlier_kept) {
    earlier_qkv_.push_back(kept->blocks[i].qkv);
  }
  earlier_dqkv_.clear();
  for (const PartGradients<T>* gradients : input.earlier_gradients) {
    earlier_dqkv_.push_back(gradients->blocks[i].qkv);
  }
  return {.qkv = earlier_qkv_, .dqkv = earlier_dqkv_};
}

template <class T>
double Part<T>::forward(const PartInput<T>& input, const PartKept<T>& kept, Matrix<T> y) {
  std::size_t output = 0;
  const auto next_output = [&] {
    return output < kept.outputs.size() ? kept.outputs[output++] : y;
  };
  if (embedding_) {
    const Matrix<T> embedded = next_output();
    if (embedded.data != nullptr) embedding_->forward(input.slice, input.ids, embedded);
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].forward(input.slice, earlier_of(i, input), input_of(i, input, kept), kept.blocks[i],
                       next_output());
  }
  if (head_) {
    return head_->forward(input_of(blocks_.size(), input, kept), input.targets, gradient_scale_,
                          kept.head);
  }
  if (local_head_) {
    const Matrix<const T> x = input_of(blocks_.size(), input, kept);
    if (y.data != nullptr) fill_rows(x, nullptr, y);
    return local_head_->forward(input.slice, x, input.targets, gradient_scale_, kept.local_head);
  }
  if (!embedding_ && blocks_.empty() && y.data != nullptr) fill_rows(input.x, nullptr, y);
  return 0;
}

template <class T>
void Part<T>::make_again(const PartInput<T>& input, const PartKept<T>& kept) {
  if (recompute_ == RecomputeChoice::Full) {
    forward(input, kept, {});
    return;
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].make_cheap(input.slice, earlier_of(i, input), kept.blocks[i]);
  }
  if (local_head_) local_head_->make_cheap(input.slice, kept.local_head);
}

template <class T>
void Part<T>::backward_input(const PartInput<T>& input, const PartKept<T>& kept,
                             const PartGradients<T>& gradients, Matrix<const T> dy, Matrix<T> dx) {
  // Where the gradient of block i's output goes: i = -1 means E, or else out of the part.
  const auto gradient_of_output = [&](std::size_t blocks_up_to) {
    if (blocks_up_to > 0) return gradients.blocks[blocks_up_to - 1].y;
    return embedding_ ? gradients.embedded : dx;
  };
  const Matrix<T> dlast = gradient_of_output(blocks_.size());
  if (dy.data != nullptr) {
    if (dlast.data != nullptr) fill_rows(dy, nullptr, dlast);
  } else if (head_) {
    head_->backward_input(input_of(blocks_.size(), input, kept), kept.head, gradients.head, dlast);
  } else {
    local_head_->backward_input(input.slice, input_of(blocks_.size(), input, kept), kept.local_head,
                                gradients.local_head, scratch_.data(), dlast);
  }
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    blocks_[i].backward_input(input.slice, input.slice.end() == tokens_, earlier_of(i, input),
                              input_of(i, input, kept), kept.blocks[i], gradients.blocks[i],
                              scratch_.data(), gradient_of_output(i));
  }
}

template <class T>
void Part<T>::backward_weight(const PartInput<T>& input, const PartKept<T>& kept,
                              const PartGradients<T>& gradients) {
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    blocks_[i].backward_weight(input_of(i, input, kept), kept.blocks[i], gradients.blocks[i]);
  }
  if (embedding_) embedding_->backward_weight(input.slice, input.ids, gradients.embedded);
}

template <class T>
void Part<T>::backward_loss_weight(const PartInput<T>& input, const PartKept<T>& kept,
                                   const PartGradients<T>& gradients) {
  const Matrix<const T> x = input_of(blocks_.size(), input, kept);
  if (head_) head_->backward_weight(x, kept.head, gradients.head);
  if (local_head_) local_head_->backward_weight(x, kept.local_head, gradients.local_head);
}

template class Part<float>;
template class Part<double>;

}  // namespace penstock
