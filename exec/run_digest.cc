#include "run_digest.h"

#include <cstdint>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "device/digest.h"

namespace penstock {
namespace {

// Numbers and texts as bytes without padding.
class Writer {
 public:
  Writer& number(std::int64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  Writer& real(double value) { return text(fmt::format("{:a}", value)); }
  Writer& text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    const auto raw = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

void write(Writer& out, const TrainSettings& train) {
  out.text(train.data).number(train.token_bytes).number(train.steps);
  out.number(static_cast<std::int64_t>(train.seed)).number(static_cast<std::int64_t>(train.device));
  const Optimizer& o = train.optimizer;
  out.text(o.name).number(o.warmup_steps);
  for (const double value : {o.lr, o.min_lr, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.clip}) {
    out.real(value);
  }
}

void write(Writer& out, const Model& m) {
  for (const std::int32_t value : {m.layers, m.hidden, m.heads, m.kv_heads, m.head_size, m.ffn,
                                   m.vocabulary, m.max_positions}) {
    out.number(value);
  }
  out.number(static_cast<std::int64_t>(m.family)).number(static_cast<std::int64_t>(m.norm));
  out.number(static_cast<std::int64_t>(m.activation)).number(m.gated_mlp);
  out.number(static_cast<std::int64_t>(m.positions)).number(m.tied_embeddings);
  out.number(m.linear_bias).real(m.rope_theta).real(m.norm_epsilon).real(m.initializer_range);
}

}  // namespace

std::string plan_digest(const RunPlan& plan, const RunOptions& options) {
  Writer out;
  out.number(options.profile_steps);
  out.number(static_cast<std::int64_t>(plan_hash(plan.program)));
  write(out, plan.train);
  if (plan.model) write(out, *plan.model);
  for (const std::int32_t first : plan.split.first) out.number(first);
  out.number(static_cast<std::int64_t>(plan.recompute));
  out.number(plan.batch.global).number(plan.batch.micro).number(plan.batch.sequence);
  if (!plan.costs.stages.empty()) out.text(write_costs(plan.costs));
  return sha256(out.bytes());
}

std::string digest_lines(std::span<const ParameterView> tensors) {
  std::string lines;
  for (const ParameterView& t : tensors) {
    lines += fmt::format("{} [{}] {}\n", t.name, fmt::join(t.shape, ", "), sha256(t.values));
  }
  return lines;
}

std::string parameters_digest(std::span<const std::string> lines_of_actors) {
  std::set<std::string> lines;  // sorted by name, which each begins with
  for (const std::string& text : lines_of_actors) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.insert(line);
  }
  std::string all;
  std::string_view previous;
  for (const std::string& line : lines) {
    const std::string_view name = std::string_view(line).substr(0, line.find(' '));
    if (name == previous) {
      throw RunError(std::string(name), "two stages share this tensor and hold different values");
    }
    previous = name;
    all += line + "\n";
  }
  return all.empty() ? std::string() : sha256(std::as_bytes(std::span(all)));
}

}  // namespace penstock
