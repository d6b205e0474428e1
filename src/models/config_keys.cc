#include "models/config_keys.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "penstock/nearest.h"

namespace penstock {
namespace {

constexpr PlainKey kPlainAny[] = {
    {"partial_rotary_factor", {"1.0", "1"}, "rotary positions on a part of each head"},
    {"attn_logit_softcapping", {"", ""}, "capped attention scores"},
    {"final_logit_softcapping", {"", ""}, "capped logits"},
    {"pruned_heads", {"{}", ""}, "pruned attention heads"},
};

constexpr PlainKey kPlainDense[] = {
    {"num_local_experts", {"", "1"}, "a mixture of experts"},
    {"num_experts", {"", "1"}, "a mixture of experts"},
    {"n_routed_experts", {"", "1"}, "a mixture of experts"},
};

// A window of tokens counts when it is switched on; without the switch, when it is there.
void refuse_window(const JsonReader& root) {
  if (root.has("use_sliding_window")) {
    if (root.boolean("use_sliding_window", false)) {
      root.at("use_sliding_window").problem("not supported: attention to a window of tokens");
    }
  } else if (root.has("sliding_window")) {
    root.at("sliding_window").problem("not supported: attention to a window of tokens");
  }
}

// Weights stored as fp8 say how the file is laid out and nothing about the sizes; trained they are
// in full. Other methods change the shapes.
void refuse_quantised(const JsonReader& root) {
  if (!root.has("quantization_config")) return;
  const JsonReader quantised = root.at("quantization_config");
  if (!quantised.is_object()) return;
  if (quantised.text("quant_method") == "fp8") return;
  quantised.problem("not supported: quantised weights");
}

constexpr std::string_view kRopeTypes[] = {"default", "linear", "dynamic",
                                           "yarn",    "llama3", "longrope"};

}  // namespace

void refuse_changed_maths(const JsonReader& root, std::span<const PlainKey> keys) {
  for (const auto& [key, plain, meaning] : keys) {
    if (!root.has(key)) continue;
    const std::string value =
        root.at(key).value().dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (std::find(plain.begin(), plain.end(), value) != plain.end()) continue;
    root.at(key).problem(fmt::format("not supported: {}", meaning));
  }
}

void refuse_changed_maths(const JsonReader& root, const Model& model) {
  refuse_changed_maths(root, kPlainAny);
  if (!model.experts) refuse_changed_maths(root, kPlainDense);
  refuse_window(root);
  refuse_quantised(root);
}

std::int32_t size(const JsonReader& root, std::string_view key, std::int64_t max) {
  return static_cast<std::int32_t>(
      root.integer(key, {.required = true, .min = 1, .max = max, .fallback = 1}));
}

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

// Newer files hold rope_theta in "rope_parameters".
void read_rope(const JsonReader& root, double usual_theta, Model& model) {
  const NumberRule rule = {.min = 1, .fallback = usual_theta};
  model.rope_theta = root.number("rope_theta", rule);
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (!root.has(key)) continue;
    const JsonReader rope = root.at(key);
    if (!rope.is_object()) continue;
    const std::string type = rope.text(rope.has("rope_type") ? "rope_type" : "type", "default");
    if (std::ranges::find(kRopeTypes, type) == std::end(kRopeTypes)) {
      rope.problem(fmt::format("rotary type '{}' is not supported", type),
                   did_you_mean(type, kRopeTypes));
    } else if (type != "default") {
      model.rope_scaling = type;
    }
    if (rope.has("rope_theta")) model.rope_theta = rope.number("rope_theta", rule);
  }
}

}  // namespace penstock
