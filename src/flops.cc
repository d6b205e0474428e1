#include "penstock/flops.h"

#include <cmath>
#include <numeric>

#include "models/matrices.h"

namespace penstock {
namespace {

// A product with `rows` tokens in front of the weights.
MatrixProduct product(const Matrix& matrix, Pass pass, double rows) {
  const auto m = static_cast<std::int64_t>(std::ceil(rows));
  MatrixProduct made{matrix.use, pass, m, matrix.out, matrix.in, matrix.copies};
  made.share = rows / static_cast<double>(m);
  if (pass == Pass::InputGradient) std::swap(made.n, made.k);
  if (pass == Pass::WeightGradient) {
    made.m = matrix.out;
    made.n = matrix.in;
    made.k = m;
  }
  return made;
}

void add_attention(const Model& model, const TokenRange& range, const Parallel& parallel, Pass pass,
                   AttentionFlops attention, std::vector<MatrixProduct>& list) {
  if (pass == Pass::WeightGradient) return;
  const HeadShapes heads = head_shapes(model, parallel);
  const std::int64_t queries = divided(range.tokens, parallel.context);
  const std::int64_t keys = range.first + range.tokens;
  const std::int64_t count = range.sequences * heads.queries;
  // A query sees the tokens in front of the slice and on average half of the slice.
  const double seen = static_cast<double>(range.first) + 0.5 * static_cast<double>(range.tokens);
  const double share = attention == AttentionFlops::Full ? 1 : seen / static_cast<double>(keys);
  const auto add = [&](ProductUse use, std::int64_t m, std::int64_t n, std::int64_t k) {
    list.push_back({use, pass, m, n, k, count, share});
  };
  if (pass == Pass::Forward) {
    add(ProductUse::Scores, queries, keys, heads.key_size);
    add(ProductUse::Values, queries, heads.value_size, keys);
    return;
  }
  add(ProductUse::Values, queries, keys, heads.value_size);  // to the probabilities
  add(ProductUse::Values, keys, heads.value_size, queries);  // to the values
  add(ProductUse::Scores, queries, heads.key_size, keys);    // to the queries
  add(ProductUse::Scores, keys, heads.key_size, queries);    // to the keys
}

bool has_attention(const Model& model, std::int32_t block) {
  return block > 0 && block < model.head_block();
}

double rows_of(const Matrix& matrix, const Model& model, const TokenRange& range,
               const Parallel& parallel) {
  if (matrix.is_expert) {
    return tokens_of_experts(model, range, parallel) / static_cast<double>(matrix.copies);
  }
  return static_cast<double>(matrix.cut == Cut::None ? tokens_between(range, parallel)
                                                     : tokens_in(range, parallel));
}

// Forward work of one sequence, by what the conventions tell apart.
struct ForwardParts {
  double layers = 0;     // their matrices
  double attention = 0;  // all pairs
  double head = 0;
};

ForwardParts forward_parts(const Model& model, std::int64_t sequence) {
  ForwardParts parts;
  for (std::int32_t block = 0; block < model.blocks(); ++block) {
    for (const MatrixProduct& each :
         products(model, block, {.tokens = sequence}, {}, Pass::Forward, AttentionFlops::Full)) {
      const bool pairs = each.use == ProductUse::Scores || each.use == ProductUse::Values;
      double& part = each.use == ProductUse::Head ? parts.head
                     : pairs                      ? parts.attention
                                                  : parts.layers;
      part += each.flops();
    }
  }
  return parts;
}

constexpr std::string_view kUses[] = {
    "query_key_value", "query_down", "query_up",      "key_value_down", "key_value_up",
    "scores",          "values",     "attention_out", "mlp_up",         "mlp_down",
    "router",          "expert_up",  "expert_down",   "shared_up",      "shared_down",
    "prediction_in",   "head"};

constexpr FlopConventionEntry kConventions[] = {
    {FlopConvention::ModelFull, "model_full", "72 B L s h^2 (1 + s/(6h) + V/(12 h L))",
     "Korthikanti et al. (arXiv 2205.05198), vocabulary parallelism (arXiv 2411.05288), MegaScale "
     "(arXiv 2402.15627), llm-foundry, NVIDIA dgxc-benchmarking"},
    {FlopConvention::ModelCausal, "model_causal", "72 B L s h^2 (1 + s/(12h) + V/(12 h L))",
     "Megatron-Bridge, NeMo AutoModel"},
    {FlopConvention::HardwareFull, "hardware_full", "96 B L s h^2 (1 + s/(6h) + V/(16 h L))",
     "Megatron-LM (arXiv 2104.04473, eq. 3, and its READMEs of 2020), MT-NLG (arXiv 2201.11990), "
     "Alpa"},
    {FlopConvention::HardwareSelective, "hardware_selective",
     "72 B L s h^2 (1 + s/(3h) + V/(12 h L))", "Korthikanti et al., with selective recomputation"},
};

}  // namespace

std::string_view name(ProductUse use) {
  return kUses[static_cast<std::size_t>(use)];
}

double MatrixProduct::flops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(count) * share;
}

double flops(std::span<const MatrixProduct> products) {
  return std::accumulate(products.begin(), products.end(), 0.0,
                         [](double sum, const MatrixProduct& each) { return sum + each.flops(); });
}

std::vector<MatrixProduct> products(const Model& model, std::int32_t block, const TokenRange& range,
                                    const Parallel& parallel, Pass pass, AttentionFlops attention) {
  std::vector<MatrixProduct> list;
  for (const Matrix& matrix : matrices(model, block, parallel)) {
    if (matrix.use == ProductUse::AttentionOut) {
      add_attention(model, range, parallel, pass, attention, list);
    }
    list.push_back(product(matrix, pass, rows_of(matrix, model, range, parallel)));
  }
  return list;
}

std::vector<MatrixProduct> remade_products(const Model& model, std::int32_t block,
                                           const TokenRange& range, const Parallel& parallel,
                                           RecomputeChoice recompute, AttentionFlops attention) {
  if (recompute == RecomputeChoice::None || !has_attention(model, block)) return {};
  if (recompute == RecomputeChoice::Full) {
    return products(model, block, range, parallel, Pass::Forward, attention);
  }
  std::vector<MatrixProduct> list;
  add_attention(model, range, parallel, Pass::Forward, attention, list);
  return list;
}

std::vector<MatrixProduct> flash_remade_products(const Model& model, std::int32_t block,
                                                 const TokenRange& range, const Parallel& parallel,
                                                 AttentionFlops attention) {
  std::vector<MatrixProduct> list =
      remade_products(model, block, range, parallel, RecomputeChoice::Selective, attention);
  std::erase_if(list, [](const MatrixProduct& each) { return each.use != ProductUse::Scores; });
  return list;
}

std::span<const FlopConventionEntry> flop_conventions() {
  return kConventions;
}

double model_flops(const Model& model, std::int64_t sequence, FlopConvention convention) {
  const auto [layers, attention, head] = forward_parts(model, sequence);
  switch (convention) {
    case FlopConvention::ModelFull:
      return 3 * (layers + attention + head);
    case FlopConvention::ModelCausal:
      return 3 * (layers + attention / 2 + head);
    case FlopConvention::HardwareFull:
      return 4 * (layers + attention) + 3 * head;
    case FlopConvention::HardwareSelective:
      return 3 * (layers + 2 * attention + head);
  }
  return 0;
}

}  // namespace penstock
