#include "zb_v_search.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
#include <optional>
#include <utility>

#include "penstock/index.h"
#include "v_stages.h"

namespace penstock {
namespace {

// Time counts in ops. A microbatch passes the actors four times: forwards down (pass 0) and up
// (pass 1), then input gradients down (pass 0, through chunk 1) and up (pass 1, through chunk 0).
enum Kind : std::uint8_t { kForward, kInput };

struct Lane {
  std::array<std::array<std::int32_t, 2>, 2> done{};  // [kind][pass]
  std::array<std::int32_t, 2> weights{};              // by pass of the input gradient
  std::deque<std::int32_t> waiting;  // passes of input gradients whose weight gradient is to come
  std::int32_t time = 0;
  std::int32_t held = 0;
};

class Search {
 public:
  Search(std::int32_t actors, std::int32_t microbatches)
      : actors_(actors), microbatches_(microbatches), lanes_(index(actors)), order_(lanes_.size()) {
    for (auto& kind : ends_) {
      for (auto& pass : kind) {
        pass.assign(lanes_.size() * index(microbatches), kNotRun);
      }
    }
  }

  std::vector<std::vector<Step>> run() {
    warm_up();
    level();
    for (std::int32_t round = 0; round < 2 * microbatches_; ++round) {
      put_inputs();
      for (std::int32_t actor = 0; actor < actors_; ++actor) put_a_forward(actor);
    }
    for (std::int32_t actor = 0; actor < actors_; ++actor) {
      while (!lane(actor).waiting.empty()) put_weight(actor);
    }
    return std::move(order_);
  }

 private:
  static constexpr std::int32_t kNotRun = -1;

  Lane& lane(std::int32_t actor) { return lanes_[index(actor)]; }

  std::int32_t& end(Kind kind, std::int32_t pass, std::int32_t actor, std::int32_t microbatch) {
    return ends_[kind][index(pass)][index(actor) * index(microbatches_) + index(microbatch)];
  }

  // When the actor's next op of that pass has its input from another actor: nothing at the turns.
  std::optional<std::int32_t> arrival(Kind kind, std::int32_t pass, std::int32_t actor) {
    const std::int32_t from = pass == 0 ? actor - 1 : actor + 1;
    if (from < 0 || from == actors_) return std::nullopt;
    return end(kind, pass, from, done(kind, pass, actor));
  }

  std::int32_t done(Kind kind, std::int32_t pass, std::int32_t actor) {
    return lane(actor).done[kind][index(pass)];
  }

  void append(OpKind kind, std::int32_t actor, std::int32_t chunk, std::int32_t microbatch) {
    order_[index(actor)].push_back({v_op(kind, actors_, actor, chunk, microbatch)});
  }

  void put(Kind kind, std::int32_t pass, std::int32_t actor) {
    Lane& at = lane(actor);
    const std::int32_t input = arrival(kind, pass, actor).value_or(0);
    assert(input != kNotRun && "ops are put in an order that their inputs allow");
    const std::int32_t microbatch = at.done[kind][index(pass)]++;
    at.time = std::max(at.time, input) + 1;
    end(kind, pass, actor, microbatch) = at.time;
    if (kind == kForward) {
      ++at.held;
      append(OpKind::Forward, actor, pass, microbatch);
    } else {
      at.waiting.push_back(pass);
      append(OpKind::BackwardInput, actor, 1 - pass, microbatch);
    }
  }

  void put_weight(std::int32_t actor) {
    Lane& at = lane(actor);
    const std::int32_t pass = at.waiting.front();
    at.waiting.pop_front();
    ++at.time;
    --at.held;
    append(OpKind::BackwardWeight, actor, 1 - pass, at.weights[index(pass)]++);
  }

  // Microbatch 0 goes down and up; before it comes up, further forwards go down as far as there is
  // time and memory for them.
  void warm_up() {
    for (std::int32_t actor = 0; actor < actors_; ++actor) put(kForward, 0, actor);
    for (std::int32_t actor = actors_ - 1; actor >= 0; --actor) {
      const std::optional<std::int32_t> first = arrival(kForward, 1, actor);
      while (first && lane(actor).held + 2 + 2 * actor <= 2 * actors_ &&
             lane(actor).time < *first && done(kForward, 0, actor) < microbatches_) {
        for (std::int32_t j = 0; j <= actor; ++j) put(kForward, 0, j);
      }
      put(kForward, 1, actor);
    }
  }

  // Forwards of both chunks in turn, until no actor has run fewer than the one before it.
  void level() {
    std::int32_t pass = 0;
    const auto forwards = [&](std::int32_t actor) {
      return done(kForward, 0, actor) + done(kForward, 1, actor);
    };
    const auto behind = [&](std::int32_t actor) {
      const std::int32_t before = done(kForward, 1, actor - 1);
      return forwards(actor) < forwards(actor - 1) ||
             (done(kForward, 1, actor) <= before && before < microbatches_);
    };
    for (std::int32_t actor = 1; actor < actors_; ++actor) {
      while (behind(actor)) {
        for (std::int32_t j = actors_ - 1; j >= actor; --j) {
          if (done(kForward, pass, j) < microbatches_) put(kForward, pass, j);
        }
        pass = 1 - pass;
      }
    }
  }

  // Weight gradients until the input arrives.
  void fill(Kind kind, std::int32_t pass, std::int32_t actor) {
    const std::int32_t input = arrival(kind, pass, actor).value_or(0);
    while (!lane(actor).waiting.empty() && lane(actor).time < input) put_weight(actor);
  }

  void put_inputs() {
    std::vector<std::int32_t> down;
    std::vector<std::int32_t> up;
    for (std::int32_t actor = 0; actor < actors_; ++actor) {
      (next_input_pass(actor) == 0 ? down : up).push_back(actor);
    }
    std::reverse(up.begin(), up.end());
    for (const std::int32_t actor : up) {
      fill(kInput, 1, actor);
      put(kInput, 1, actor);
    }
    for (const std::int32_t actor : down) {
      fill(kInput, 0, actor);
      put(kInput, 0, actor);
    }
  }

  std::int32_t next_input_pass(std::int32_t actor) {
    if (done(kInput, 1, actor) >= done(kInput, 0, actor)) return 0;
    const bool up = arrival(kInput, 1, actor).value_or(0) != kNotRun;
    return up || done(kInput, 0, actor) >= microbatches_ ? 1 : 0;
  }

  void put_a_forward(std::int32_t actor) {
    const std::optional<std::int32_t> pass = next_forward_pass(actor);
    if (!pass) return;
    while (lane(actor).held + 1 > 2 * actors_) put_weight(actor);
    fill(kForward, *pass, actor);
    put(kForward, *pass, actor);
  }

  std::optional<std::int32_t> next_forward_pass(std::int32_t actor) {
    if (done(kForward, 1, actor) >= microbatches_) return std::nullopt;
    if (done(kForward, 1, actor) >= done(kForward, 0, actor)) return 0;
    if (arrival(kForward, 1, actor).value_or(0) != kNotRun) return 1;
    if (done(kForward, 0, actor) >= microbatches_) return std::nullopt;
    if (arrival(kForward, 0, actor).value_or(0) != kNotRun) return 0;
    return std::nullopt;
  }

  std::int32_t actors_;
  std::int32_t microbatches_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<Step>> order_;
  std::array<std::array<std::vector<std::int32_t>, 2>, 2> ends_;  // [kind][pass]
};

}  // namespace

std::vector<std::vector<Step>> search_zb_v(std::int32_t actors, std::int32_t microbatches) {
  return Search(actors, microbatches).run();
}

}  // namespace penstock
