#include "dual_order.h"

#include <algorithm>
#include <tuple>

namespace penstock {
namespace {

enum Side : std::size_t { Near, Far };

// Writes the steps; the comments number them as deepseek-ai/DualPipe's step() does.
class DualOrder {
 public:
  explicit DualOrder(const DualActor& actor)
      : actor_(actor), sides_{actor.near, actor.far}, to_middle_(actor.actors - 1 - actor.actor) {}

  std::vector<Step> write() {
    steps_.reserve(6 * static_cast<std::size_t>(actor_.microbatches));
    fill();
    steady_state();
    drain();
    return std::move(steps_);
  }

 private:
  void fill() {
    for (std::int32_t i = 0; i < 2 * to_middle_; ++i) forward(Near);  // 1
    for (std::int32_t i = 0; i <= actor_.actor; ++i) {                // 2
      forward(Near);
      forward(Far);
    }
    for (std::int32_t i = 0; i < to_middle_; ++i) {  // 3
      backward_input(Far);
      backward_weight();
      forward(Far);
    }
  }

  void steady_state() {
    const std::int32_t turns = actor_.microbatches - 2 * actor_.actors + actor_.actor + 1;
    for (std::int32_t i = 0; i < turns; ++i) {  // 4
      if (i == 0 && to_middle_ == 0) {
        // As a pair, the first backward of all would wait for a forward that it does not need.
        forward(Near);
        backward(Far);
      } else {
        pair(Near, Far);
      }
      pair(Far, Near);
    }
    for (std::int32_t i = 0; i < to_middle_; ++i) {  // 5
      backward(Far);
      pair(Far, Near);
    }
  }

  void drain() {
    for (std::int32_t i = 0; i <= actor_.actor; ++i) {  // 6
      last_backward(Far, i);
      last_backward(Near, i);
    }
    for (std::int32_t i = 0; i < to_middle_; ++i) {  // 7
      if (actor_.rule == DualRule::DeepSeek) backward_weight();
      backward_input(Near);
    }
    if (actor_.rule == DualRule::JaxPP) sort_waiting();
    while (next_waiting_ < waiting_.size()) backward_weight();  // 8
  }

  void last_backward(Side side, std::int32_t turn) {
    if (is_split(side, turn)) {
      backward_input(side);
    } else {
      backward(side);
    }
  }

  // Weight gradients are put off in the second half of step 6: DeepSeek's from one op on, which is
  // the far side's on odd actors; JaxPP's on that side alone.
  bool is_split(Side side, std::int32_t turn) const {
    const std::int32_t half = (actor_.actor + 1) / 2;
    const Side first = actor_.actor % 2 == 1 ? Far : Near;
    if (turn < half) return false;
    if (actor_.rule == DualRule::JaxPP) return side == first;
    return turn > half || side == first || side == Near;
  }

  // JaxPP cannot tell the two halves of the model's first stage apart.
  bool is_whole(Side side) const {
    return actor_.rule == DualRule::JaxPP && sides_[side].stage == 0;
  }

  void forward(Side side) { steps_.push_back({op(OpKind::Forward, side, forwards_[side]++)}); }

  void backward(Side side) {
    // JaxPP's unfused tasks are its smallest ones, and a backward is two of them.
    if (actor_.rule == DualRule::JaxPP && !actor_.fused && !is_whole(side)) {
      const std::int32_t i = backwards_[side]++;
      steps_.push_back({op(OpKind::BackwardInput, side, i)});
      steps_.push_back({op(OpKind::BackwardWeight, side, i)});
    } else {
      steps_.push_back({op(OpKind::Backward, side, backwards_[side]++)});
    }
  }

  void backward_input(Side side) {
    if (is_whole(side)) return backward(side);
    const Op input = op(OpKind::BackwardInput, side, backwards_[side]++);
    steps_.push_back({input});
    waiting_.push_back(input);
    waiting_.back().kind = OpKind::BackwardWeight;
  }

  void backward_weight() { steps_.push_back({waiting_[next_waiting_++]}); }

  void pair(Side forward_of, Side backward_of) {
    forward(forward_of);
    backward(backward_of);
    if (actor_.fused) steps_.back().overlaps_previous = true;
  }

  void sort_waiting() {
    std::sort(waiting_.begin() + static_cast<std::ptrdiff_t>(next_waiting_), waiting_.end(),
              [](const Op& a, const Op& b) {
                return std::tuple(a.microbatch, a.stage) < std::tuple(b.microbatch, b.stage);
              });
  }

  Op op(OpKind kind, Side side, std::int32_t i) const {
    return {kind, sides_[side].stage, sides_[side].first_microbatch + i, 0};
  }

  const DualActor actor_;
  const std::array<DualSide, 2> sides_;
  const std::int32_t to_middle_;  // actors between this one and the middle
  std::array<std::int32_t, 2> forwards_ = {};
  std::array<std::int32_t, 2> backwards_ = {};
  std::vector<Op> waiting_;  // weight gradients that were put off, oldest first
  std::size_t next_waiting_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> dual_order(const DualActor& actor) {
  return DualOrder(actor).write();
}

}  // namespace penstock
