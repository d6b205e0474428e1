#include "penstock/op.h"

#include "penstock/index.h"
#include "penstock/number_text.h"

namespace penstock {
namespace {

constexpr std::string_view kLetters = "FBIWRU";

}  // namespace

char letter(OpKind kind) {
  return kLetters[index(kind)];
}

std::string_view name(OpKind kind) {
  constexpr std::string_view kNames[] = {"forward",         "backward",  "backward_input",
                                         "backward_weight", "recompute", "update"};
  return kNames[index(kind)];
}

std::string to_string(const Op& op) {
  std::string text = std::to_string(op.stage) + letter(op.kind) + std::to_string(op.microbatch);
  if (op.slice != 0) text += '.' + std::to_string(op.slice);
  return text;
}

std::optional<Op> parse_op(std::string_view text) {
  const auto stage = take_number(text);
  if (!stage || text.empty()) return std::nullopt;
  const std::size_t kind = kLetters.find(text.front());
  if (kind == std::string_view::npos) return std::nullopt;
  text.remove_prefix(1);
  const auto microbatch = take_number(text);
  if (!microbatch) return std::nullopt;
  Op op{static_cast<OpKind>(kind), *stage, *microbatch, 0};
  if (text.empty()) return op;
  if (text.front() != '.') return std::nullopt;
  text.remove_prefix(1);
  const auto slice = take_number(text);
  if (!slice || !text.empty()) return std::nullopt;
  op.slice = *slice;
  return op;
}

}  // namespace penstock
