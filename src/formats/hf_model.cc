// Hugging Face's config.json as transformers' GPT2Config and LlamaConfig define it: names, defaults
// and which value means what are theirs (configuration_gpt2.py, configuration_llama.py).
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json_reader.h"
#include "penstock/model.h"

namespace penstock {
namespace {

// Bounds that keep every product of sizes inside 64 bits and every list of tensors small.
constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kMostWidth = 1'000'000;
constexpr std::int64_t kMostRows = 100'000'000;  // vocabulary, positions

// A key whose value may change the maths, and the values that do not.
struct PlainKey {
  std::string_view key;
  std::array<std::string_view, 2> plain;  // JSON texts; null and absent are always plain
  std::string_view meaning;
};

constexpr PlainKey kPlainGpt2[] = {
    {"scale_attn_weights", {"true", ""}, "attention scores without 1/sqrt(head size)"},
    {"scale_attn_by_inverse_layer_idx", {"false", ""}, "attention scaled by the layer's number"},
    {"add_cross_attention", {"false", ""}, "cross-attention"},
};

constexpr PlainKey kPlainLlama[] = {
    {"attention_bias", {"false", ""}, "biases in the attention's projections"},
    {"mlp_bias", {"false", ""}, "biases in the MLP's projections"},
};

constexpr PlainKey kPlainAny[] = {
    {"sliding_window", {"", ""}, "attention to a window of tokens"},
    {"use_sliding_window", {"false", ""}, "attention to a window of tokens"},
    {"partial_rotary_factor", {"1.0", "1"}, "rotary positions on a part of each head"},
    {"attn_logit_softcapping", {"", ""}, "capped attention scores"},
    {"final_logit_softcapping", {"", ""}, "capped logits"},
    {"num_local_experts", {"", "1"}, "a mixture of experts"},
    {"num_experts", {"", "1"}, "a mixture of experts"},
    {"quantization_config", {"", ""}, "quantised weights"},
    {"pruned_heads", {"{}", ""}, "pruned attention heads"},
};

template <std::size_t N>
void refuse_changed_maths(const JsonReader& root, const PlainKey (&keys)[N]) {
  for (const auto& [key, plain, meaning] : keys) {
    if (!root.has(key)) continue;
    const std::string value =
        root.at(key).value().dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (std::find(plain.begin(), plain.end(), value) != plain.end()) continue;
    root.at(key).problem(fmt::format("not supported: {}", meaning));
  }
}

std::int32_t size(const JsonReader& root, std::string_view key, std::int64_t max) {
  return static_cast<std::int32_t>(
      root.integer(key, {.required = true, .min = 1, .max = max, .fallback = 1}));
}

// A size that the file may leave out or null.
std::int32_t size_or(const JsonReader& root, std::string_view key, std::int64_t max,
                     std::int64_t fallback) {
  return static_cast<std::int32_t>(root.integer(key, {.min = 1, .max = max, .fallback = fallback}));
}

Activation read_activation(const JsonReader& root, std::string_view key,
                           const std::string& fallback) {
  const std::string name = root.text(key, fallback);
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") {
    return Activation::GeluTanh;
  }
  if (name == "gelu") return Activation::Gelu;
  if (name == "silu" || name == "swish") return Activation::Silu;
  root.at(key).problem(fmt::format("activation '{}' is not supported", name),
                       "supported: gelu_new, gelu_pytorch_tanh, gelu, silu");
  return Activation::Silu;
}

void note_dropout(const JsonReader& root, std::initializer_list<std::string_view> keys,
                  Model& model) {
  std::vector<std::string> asked;
  for (const std::string_view key : keys) {
    const double rate = root.number(key, {.max = 1});
    if (rate > 0) asked.push_back(fmt::format("{} {}", key, rate));
  }
  if (asked.empty()) return;
  model.notes.push_back(
      fmt::format("trained without dropout (the file asks for {})", fmt::join(asked, ", ")));
}

// Rotary positions of any type but the plain one have other angles. Newer files hold rope_theta in
// "rope_parameters".
double read_rope_theta(const JsonReader& root) {
  const NumberRule rule = {.min = 1, .fallback = 10000};
  double theta = root.number("rope_theta", rule);
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (!root.has(key)) continue;
    const JsonReader rope = root.at(key);
    if (!rope.is_object()) continue;
    const std::string type = rope.text(rope.has("rope_type") ? "rope_type" : "type", "default");
    if (type != "default") rope.problem(fmt::format("rotary type '{}' is not supported", type));
    if (rope.has("rope_theta")) theta = rope.number("rope_theta", rule);
  }
  return theta;
}

Model read_gpt2(const JsonReader& root) {
  Model model;
  model.family = Family::Gpt2;
  model.layers = size(root, "n_layer", kMostLayers);
  model.hidden = size(root, "n_embd", kMostWidth);
  model.heads = size(root, "n_head", kMostWidth);
  model.kv_heads = model.heads;
  model.ffn = size_or(root, "n_inner", 10 * kMostWidth, 4 * std::int64_t{model.hidden});
  model.vocabulary = size(root, "vocab_size", kMostRows);
  model.max_positions = size(root, "n_positions", kMostRows);
  model.activation = read_activation(root, "activation_function", "gelu_new");
  model.tied_embeddings = root.boolean("tie_word_embeddings", true);
  model.norm_epsilon = root.number("layer_norm_epsilon", {.max = 1, .fallback = 1e-5});
  model.initializer_range = root.number("initializer_range", {.max = 10, .fallback = 0.02});
  note_dropout(root, {"attn_pdrop", "embd_pdrop", "resid_pdrop"}, model);
  refuse_changed_maths(root, kPlainGpt2);
  if (model.hidden % model.heads != 0) {
    root.problem(fmt::format("n_embd {} does not divide by n_head {}", model.hidden, model.heads));
  }
  model.head_size = model.hidden / model.heads;
  return model;
}

void check_llama_heads(const JsonReader& root, const Model& model) {
  if (model.heads % model.kv_heads != 0) {
    root.problem(fmt::format("num_attention_heads {} does not divide by num_key_value_heads {}",
                             model.heads, model.kv_heads));
  }
  if (!root.has("head_dim") && model.hidden % model.heads != 0) {
    root.problem(fmt::format("hidden_size {} does not divide by num_attention_heads {}",
                             model.hidden, model.heads));
  } else if (model.head_size % 2 != 0) {
    root.problem(fmt::format("heads of odd size {} cannot turn in pairs", model.head_size));
  }
}

Model read_llama(const JsonReader& root) {
  Model model;
  model.family = Family::Llama;
  model.layers = size(root, "num_hidden_layers", kMostLayers);
  model.hidden = size(root, "hidden_size", kMostWidth);
  model.heads = size(root, "num_attention_heads", kMostWidth);
  model.kv_heads = size_or(root, "num_key_value_heads", kMostWidth, model.heads);
  model.head_size =
      size_or(root, "head_dim", kMostWidth, std::max<std::int64_t>(1, model.hidden / model.heads));
  model.ffn = size(root, "intermediate_size", 10 * kMostWidth);
  model.vocabulary = size(root, "vocab_size", kMostRows);
  model.max_positions = size(root, "max_position_embeddings", kMostRows);
  model.norm = Norm::RmsNorm;
  model.activation = read_activation(root, "hidden_act", "silu");
  model.gated_mlp = true;
  model.positions = Positions::Rotary;
  model.rope_theta = read_rope_theta(root);
  model.tied_embeddings = root.boolean("tie_word_embeddings", false);
  model.linear_bias = false;
  model.norm_epsilon = root.number("rms_norm_eps", {.max = 1, .fallback = 1e-6});
  model.initializer_range = root.number("initializer_range", {.max = 10, .fallback = 0.02});
  note_dropout(root, {"attention_dropout"}, model);
  refuse_changed_maths(root, kPlainLlama);
  check_llama_heads(root, model);
  return model;
}

struct FamilyRow {
  std::string_view model_type;
  Model (*read)(const JsonReader& root);
};

constexpr FamilyRow kFamilies[] = {{"gpt2", &read_gpt2}, {"llama", &read_llama}};

}  // namespace

Model read_model(std::string_view json, const std::string& where) {
  std::vector<Problem> problems;
  const nlohmann::json document = parse_json(json, where);
  const JsonReader root(document, where, problems);
  Model model;
  if (root.is_object()) {
    const std::string type = root.text("model_type", {}, true);
    const auto row =
        std::find_if(std::begin(kFamilies), std::end(kFamilies),
                     [&](const FamilyRow& family) { return family.model_type == type; });
    if (row != std::end(kFamilies)) {
      model = row->read(root);
      refuse_changed_maths(root, kPlainAny);
    } else if (root.has("model_type") && root.at("model_type").value().is_string()) {
      root.at("model_type")
          .problem(fmt::format("model_type '{}' is not supported", type), "supported: gpt2, llama");
    }
  }
  if (!problems.empty()) throw Error(problems);
  return model;
}

}  // namespace penstock
