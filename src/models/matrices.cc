#include "models/matrices.h"

#include <algorithm>

namespace penstock {
namespace {

class MatrixList {
 public:
  MatrixList(const Model& model, const Parallel& parallel) : model_(model), parallel_(parallel) {}

  void attention() {
    const HeadShapes heads = head_shapes(model_, parallel_);
    const std::int64_t h = model_.hidden;
    if (model_.latent) {
      latent_projections(*model_.latent, heads);
    } else {
      const std::int64_t out = (heads.queries + 2 * heads.keys) * heads.key_size;
      list.push_back(
          {ProductUse::QueryKeyValue, Cut::Columns, h, out, model_.linear_bias || model_.qkv_bias});
    }
    list.push_back({ProductUse::AttentionOut, Cut::Rows, heads.queries * heads.value_size, h,
                    model_.linear_bias});
  }

  void mlp(ProductUse up, ProductUse down, std::int64_t ffn) {
    const std::int64_t share = divided(ffn, parallel_.tensor);
    list.push_back({up, Cut::Columns, model_.hidden, up_width() * share, model_.linear_bias});
    list.push_back({down, Cut::Rows, share, model_.hidden, model_.linear_bias});
  }

  void experts() {
    const MixtureOfExperts& moe = *model_.experts;
    const std::int64_t h = model_.hidden;
    const std::int64_t copies = divided(moe.experts, parallel_.expert);
    const std::int64_t share = divided(moe.ffn, parallel_.tensor_of_experts());
    list.push_back({ProductUse::Router, Cut::None, h, moe.experts});
    list.push_back(
        {ProductUse::ExpertUp, Cut::Columns, h, up_width() * share, false, copies, true});
    list.push_back({ProductUse::ExpertDown, Cut::Rows, share, h, false, copies, true});
    if (moe.shared_ffn > 0) mlp(ProductUse::SharedUp, ProductUse::SharedDown, moe.shared_ffn);
  }

  std::vector<Matrix> list;

 private:
  std::int64_t up_width() const { return model_.gated_mlp ? 2 : 1; }

  void latent_projections(const LatentAttention& latent, const HeadShapes& heads) {
    const std::int64_t h = model_.hidden;
    const std::int64_t rank = latent.query_rank;
    if (rank > 0) list.push_back({ProductUse::QueryDown, Cut::None, h, rank});
    list.push_back(
        {ProductUse::QueryUp, Cut::Columns, rank > 0 ? rank : h, heads.queries * heads.key_size});
    list.push_back({ProductUse::KeyValueDown, Cut::None, h, latent.kv_rank + latent.rope_size});
    list.push_back({ProductUse::KeyValueUp, Cut::Columns, latent.kv_rank,
                    heads.queries * (latent.nope_size + latent.value_size)});
  }

  const Model& model_;
  const Parallel& parallel_;
};

}  // namespace

std::vector<Matrix> matrices(const Model& model, std::int32_t block, const Parallel& parallel) {
  if (block == 0) return {};
  const std::int64_t h = model.hidden;
  if (block == model.head_block()) {
    return {{ProductUse::Head, Cut::Columns, h, divided(model.vocabulary, parallel.tensor), false,
             1 + std::int64_t{model.mtp_depth}}};
  }
  MatrixList made(model, parallel);
  if (model.is_prediction(block)) {
    made.list.push_back(
        {ProductUse::PredictionIn, Cut::Columns, 2 * h, divided(h, parallel.tensor)});
  }
  made.attention();
  if (model.has_experts(block)) {
    made.experts();
  } else {
    made.mlp(ProductUse::MlpUp, ProductUse::MlpDown, model.ffn);
  }
  return std::move(made.list);
}

HeadShapes head_shapes(const Model& model, const Parallel& parallel) {
  const std::int64_t heads = divided(model.heads, parallel.tensor);
  if (model.latent) return {heads, heads, model.head_size, model.latent->value_size};
  return {heads, std::max<std::int64_t>(1, model.kv_heads / parallel.tensor), model.head_size,
          model.head_size};
}

std::int64_t tokens_in(const TokenRange& range, const Parallel& parallel) {
  return range.sequences * divided(range.tokens, parallel.context);
}

std::int64_t tokens_between(const TokenRange& range, const Parallel& parallel) {
  return divided(tokens_in(range, parallel), parallel.sequence ? parallel.tensor : 1);
}

double tokens_of_experts(const Model& model, const TokenRange& range, const Parallel& parallel) {
  const auto tokens = static_cast<double>(tokens_in(range, parallel));
  return tokens * model.experts->per_token * parallel.tensor_of_experts() / parallel.tensor;
}

}  // namespace penstock
