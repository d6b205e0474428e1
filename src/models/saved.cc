// What autograd keeps, operation by operation, in Megatron-LM's order of operations. For a GPT with
// dropout and without fusion the sum is s b h (34 + 5 a s / h): Korthikanti et al., section 4.1. In
// the comments: s tokens of b sequences, h wide, a heads, t tensor-parallel devices.
#include "models/saved.h"

#include <cmath>

#include "models/matrices.h"

namespace penstock {
namespace {

class SavedList {
 public:
  SavedList(const Model& model, const TokenRange& range, const Parallel& parallel,
            const FootprintChoice& choice)
      : model_(model),
        range_(range),
        parallel_(parallel),
        choice_(choice),
        heads_(head_shapes(model, parallel)),
        inside_(tokens_in(range, parallel)),
        between_(tokens_between(range, parallel)),
        value_(value_bytes(choice.precision)),
        input_(choice.precision == Precision::Fp8 ? 1 : value_) {}

  void embedding() { mask(between_ * model_.hidden); }

  // The joined hidden state and embedding, each normed, and the last norm (DeepSeek-V3, 2.2).
  void prediction() {
    const std::int64_t h = model_.hidden;
    kept(between_ * h * value_);
    kept(between_ * h * value_);
    for_weight(between_ * 2 * h * input_);
    kept(between_ * h * value_);
  }

  void attention() {
    const std::int64_t h = model_.hidden;
    kept(between_ * h * value_);        // the norm's input: 2 s b h
    for_weight(between_ * h * input_);  // its output, for queries, keys and values: 2 s b h
    if (model_.latent) latents(*model_.latent);
    const std::int64_t query = heads_.queries * heads_.key_size;
    const std::int64_t key = heads_.keys * heads_.key_size;
    if (model_.qk_norm) kept(inside_ * (query + key) * value_);  // before their norms
    kept(inside_ * (query + key) * value_);                      // 4 s b h / t with a = kv heads
    kept(inside_ * heads_.keys * heads_.value_size * value_);    // 2 s b h / t
    core();
    for_weight(inside_ * heads_.queries * heads_.value_size * input_);  // 2 s b h / t
    mask(between_ * h);                                                 // s b h
  }

  void mlp() {
    norm_in_front_of_mlp();
    for_weight(between_ * model_.hidden * input_);  // 2 s b h
    inside_mlp(model_.ffn);
    mask(between_ * model_.hidden);  // s b h
  }

  // Router and shared experts read what the routed ones get a copy of. The experts' outputs are
  // kept because the router learns from their product with the gradient.
  void experts() {
    const MixtureOfExperts& moe = *model_.experts;
    const std::int64_t h = model_.hidden;
    norm_in_front_of_mlp();
    for_weight(between_ * h * value_);
    kept(between_ * moe.experts * 4);  // the router's probabilities, in single precision
    const auto pairs =
        static_cast<std::int64_t>(std::ceil(tokens_of_experts(model_, range_, parallel_)));
    const std::int64_t share = divided(moe.ffn, parallel_.tensor_of_experts());
    for_weight(pairs * h * input_);
    kept(pairs * (model_.gated_mlp ? 2 : 1) * share * value_);
    for_weight(pairs * share * input_);
    kept(pairs * h * value_);
    if (moe.shared_ffn > 0) inside_mlp(moe.shared_ffn);
    mask(between_ * h);
  }

  // The last norm, then per loss the head's input and the logits: 4 s b h (1 + V / h) / t.
  void head() {
    const std::int64_t losses = 1 + std::int64_t{model_.mtp_depth};
    kept(between_ * model_.hidden * value_);
    for_weight(losses * between_ * model_.hidden * value_);
    kept(losses * logits_bytes(model_, range_, parallel_));
  }

  std::vector<Saved> list;

 private:
  void kept(std::int64_t bytes) { list.push_back({.bytes = bytes}); }
  void for_weight(std::int64_t bytes) { list.push_back({.bytes = bytes, .for_weight = true}); }
  void mask(std::int64_t values) {
    if (choice_.dropout) kept(values);
  }

  // Down to a latent vector, its norm, and up again.
  void latents(const LatentAttention& latent) {
    for (const std::int64_t rank : {latent.query_rank, latent.kv_rank}) {
      kept(between_ * rank * value_);
      for_weight(between_ * rank * input_);
    }
  }

  // Probabilities, their dropout mask and what it leaves: 5 a s^2 b / t; or the logarithm of each
  // softmax's sum.
  void core() {
    if (choice_.attention == AttentionKernel::Flash) {
      list.push_back({.bytes = inside_ * heads_.queries * 4, .is_core = true});
      return;
    }
    const std::int64_t pairs = inside_ * heads_.queries * (range_.first + range_.tokens);
    const std::int64_t with_dropout = choice_.dropout ? 1 + value_ : 0;
    list.push_back({.bytes = pairs * (value_ + with_dropout), .is_core = true});
  }

  void norm_in_front_of_mlp() { kept(between_ * model_.hidden * value_); }  // 2 s b h

  // What the activation reads, gate and up with SwiGLU: 8 s b h / t of a GPT; what it makes, which
  // the way down reads: 8 s b h / t.
  void inside_mlp(std::int64_t ffn) {
    const std::int64_t share = divided(ffn, parallel_.tensor);
    kept(inside_ * (model_.gated_mlp ? 2 : 1) * share * value_);
    for_weight(inside_ * share * input_);
  }

  const Model& model_;
  const TokenRange& range_;
  const Parallel& parallel_;
  const FootprintChoice& choice_;
  const HeadShapes heads_;
  const std::int64_t inside_;
  const std::int64_t between_;
  const std::int64_t value_;
  const std::int64_t input_;
};

}  // namespace

std::vector<Saved> saved_tensors(const Model& model, std::int32_t block, const TokenRange& range,
                                 const Parallel& parallel, const FootprintChoice& choice) {
  SavedList saved(model, range, parallel, choice);
  if (block == 0) {
    saved.embedding();
  } else if (block == model.head_block()) {
    saved.head();
  } else {
    if (model.is_prediction(block)) saved.prediction();
    saved.attention();
    model.has_experts(block) ? saved.experts() : saved.mlp();
  }
  return std::move(saved.list);
}

std::int64_t output_gradient_bytes(const Model& model, std::int32_t block, const TokenRange& range,
                                   const Parallel& parallel, const FootprintChoice& choice) {
  const std::int64_t value = value_bytes(choice.precision);
  if (block == 0) return tokens_between(range, parallel) * model.hidden * value;
  const bool is_layer = block < model.head_block();
  const std::int64_t bytes = is_layer && choice.precision == Precision::Fp8 ? 1 : value;
  std::int64_t sum = 0;
  for (const Matrix& matrix : matrices(model, block, parallel)) {
    if (matrix.is_expert) {
      const double pairs = tokens_of_experts(model, range, parallel);
      sum += static_cast<std::int64_t>(std::ceil(pairs)) * matrix.out * bytes;
    } else if (matrix.cut == Cut::Columns) {
      sum += tokens_in(range, parallel) * matrix.out * matrix.copies * bytes;
    } else {
      sum += tokens_between(range, parallel) * matrix.out * bytes;
    }
  }
  return sum;
}

}  // namespace penstock
