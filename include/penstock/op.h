// File: op.h. One unit of a pipeline's work.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

// F forward, B full backward, I input gradient, W weight gradient; B = I + W. The zero-bubble
// papers write "B" for I: Penstock never does. R makes the activations of its F once more, in front
// of its B or I; the F of such a unit kept only what that takes. U is the stage's optimizer step:
// it applies the gradients of all microbatches up to its own that no earlier U applied.
// NOTE: the values reach disk, do not change them.
enum class OpKind : std::uint8_t {
  Forward = 0,
  Backward = 1,
  BackwardInput = 2,
  BackwardWeight = 3,
  Recompute = 4,
  Update = 5
};

inline constexpr int kOpKinds = 6;
inline constexpr int kPassKinds = 5;  // all but U: what works on a (microbatch, slice)

// 'F', 'B', 'I', 'W', 'R' or 'U'.
char letter(OpKind kind);

// "forward", "backward", "backward_input", "backward_weight", "recompute", "update": the names of
// the costs file.
std::string_view name(OpKind kind);

// What a result of `kind` is to the stage that waits for it: the "activation" of F, the "gradient"
// of the others.
constexpr std::string_view tensor_name(OpKind kind) {
  return kind == OpKind::Forward ? "activation" : "gradient";
}

// B and I produce the gradient that the previous stage on the route waits for.
constexpr bool gives_input_gradient(OpKind kind) {
  return kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

// B and W add to the stage's weight gradient (and free the rest of its activation).
constexpr bool gives_weight_gradient(OpKind kind) {
  return kind == OpKind::Backward || kind == OpKind::BackwardWeight;
}

// Microbatch `microbatch` (token slice `slice` of it) passing stage `stage`. An update has slice 0.
struct Op {
  OpKind kind = OpKind::Forward;
  std::int32_t stage = 0;
  std::int32_t microbatch = 0;
  std::int32_t slice = 0;
  auto operator<=>(const Op&) const = default;
};

// torch's spelling, stage first: "3F5"; slice 2 of microbatch 5: "3F5.2". Slice 0 is not written.
std::string to_string(const Op& op);

// The inverse of to_string; leading zeros are read, too. nullopt for spaces, signs, overflow.
//   parse_op("3F5.2") == Op{OpKind::Forward, 3, 5, 2}
std::optional<Op> parse_op(std::string_view text);

}  // namespace penstock
