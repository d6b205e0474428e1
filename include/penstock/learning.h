// File: learning.h. What a pipeline's stages learn from, and how far gradients travel.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

// Backprop     one loss behind the last stage; gradients pass all stages
// Local        a loss on top of each window of stages; gradients stay inside their window
// ForwardOnly  no loss and no backward: inference
enum class LearningKind : std::uint8_t { Backprop, Local, ForwardOnly };

// What the weights of a stage in several windows learn from: the sum of those windows' gradients,
// or the one whose loss is furthest.
enum class Combine : std::uint8_t { Sum, Furthest };

// The auxiliary head that makes a loss of a hidden state: final norm and language-model head; a
// hidden layer before it; a transformer block before it. The last stage has the model's own head.
enum class AuxHead : std::uint8_t { Linear, Mlp, Block };

// The names of files: "backprop", "windows", "inference"; "sum", "furthest"; "linear", "mlp",
// "block".
std::string_view name(LearningKind kind);
std::string_view name(Combine combine);
std::string_view name(AuxHead head);

inline constexpr LearningKind kLearningKinds[] = {LearningKind::Backprop, LearningKind::Local,
                                                  LearningKind::ForwardOnly};
inline constexpr Combine kCombines[] = {Combine::Sum, Combine::Furthest};
inline constexpr AuxHead kAuxHeads[] = {AuxHead::Linear, AuxHead::Mlp, AuxHead::Block};

// The windows of Local, counted in stages along a route: window j holds `window` stages from stage
// j * stride on, up to the first window that ends with the route (it may be shorter). window =
// stride = 1 is greedy, window > stride overlapping, window = stride chunked, and one window over
// the whole route is backprop (Laskin et al., Parallel Training of Deep Networks with Local
// Updates, arXiv 2012.03837).
struct Learning {
  LearningKind kind = LearningKind::Backprop;
  std::int32_t window = 1;  // with Local alone, like the next three
  std::int32_t stride = 1;
  Combine combine = Combine::Sum;
  AuxHead aux = AuxHead::Linear;
  // How many activations wait at most between two stages; 0: any number. Counting a route's
  // (microbatch, slice) pairs, the forward of pair i on a stage ends only after that of pair
  // i - queue_capacity on the next stage has started (bounded queues of PPLL, arXiv 2411.12780).
  std::int32_t queue_capacity = 0;

  bool operator==(const Learning&) const = default;
};

// How many windows hold all of the stages `first` to `last` of a route of `length` stages (by place
// on it, from 0): under Backprop one, under ForwardOnly none. A gradient for each of them goes from
// stage `first` + 1 to `first`, as parts of one message.
// REQUIRES: 0 <= first <= last < length, and check() finds no fault in `learning`.
std::int32_t windows_with(const Learning& learning, std::int32_t length, std::int32_t first,
                          std::int32_t last);

// Whether there is one.
bool learn_together(const Learning& learning, std::int32_t length, std::int32_t first,
                    std::int32_t last);

}  // namespace penstock
