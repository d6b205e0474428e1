#include <algorithm>
#include <array>
#include <numeric>

#include "members.h"
#include "penstock/index.h"
#include "slot_table.h"
#include "v_stages.h"

namespace penstock {
namespace {

// A period is F and B of two chunks. The two halves of a backward are passes of their own, so that
// each takes one slot.
enum Pass : std::uint8_t {
  kForwardDown,
  kForwardUp,
  kBackwardDown,
  kBackwardUp,
  kEndDown,  // second half of kBackwardDown
  kEndUp
};
constexpr std::size_t kPasses = 6;

bool is_forward(std::size_t pass) {
  return pass == kForwardDown || pass == kForwardUp;
}

bool is_end(std::size_t pass) {
  return pass == kEndDown || pass == kEndUp;
}

// The first slot of each pass. Forwards follow each other without a gap; backwards too, but for
// three slots after every third, or ops would collide.
std::vector<std::array<std::int32_t, kPasses>> block(std::int32_t p) {
  std::vector<std::array<std::int32_t, kPasses>> slots(index(p));
  const auto at = [&](std::int32_t actor, Pass pass) -> std::int32_t& {
    return slots[index(actor)][pass];
  };
  for (std::int32_t r = 0; r < p; ++r) {
    at(r, kForwardDown) = r;
    at(r, kForwardUp) = 2 * p - 1 - r;
  }
  std::int32_t next = 2 * p + (p % 3 == 0 ? 3 : 0);
  std::int32_t in_row = (3 - (p + 2) % 3) % 3;
  for (std::int32_t i = 0; i < 2 * p; ++i) {
    const bool down = i < p;
    const std::int32_t actor = down ? i : 2 * p - 1 - i;
    at(actor, down ? kBackwardDown : kBackwardUp) = next;
    at(actor, down ? kEndDown : kEndUp) = next + 1;
    in_row = (in_row + 1) % 3;
    next += in_row == 0 ? 5 : 2;
  }
  return slots;
}

// Moves ops to the earliest free slot, one after the other in time, none so that an actor holds
// more than the most that any holds at the start.
class Pull {
 public:
  explicit Pull(SlotTable& table) : table_(table), lanes_(table.size()) {
    for (std::size_t actor = 0; actor < table.size(); ++actor) {
      State& lane = lanes_[actor];
      const std::size_t slots = 1 + index(table[actor][kEndUp].back());
      lane.taken.assign(slots, 0);
      lane.held.assign(slots, 0);
      for (std::size_t pass = 0; pass < kPasses; ++pass) {
        for (const std::int32_t slot : table[actor][pass]) {
          lane.taken[index(slot)] = 1;
          lane.held[index(slot)] = change(pass);
        }
      }
      std::partial_sum(lane.held.begin(), lane.held.end(), lane.held.begin());
      peak_ = std::max(peak_, *std::max_element(lane.held.begin(), lane.held.end()));
    }
  }

  void run() {
    for (const SlotEntry& entry : by_time(table_)) {
      State& lane = lanes_[entry.actor];
      const std::int32_t to = target(entry);
      add_held(lane, to, entry.slot, change(entry.pass));
      lane.taken[index(entry.slot)] = 0;
      lane.taken[index(to)] = 1;
      table_[entry.actor][entry.pass][entry.microbatch] = to;
    }
  }

 private:
  struct State {
    std::vector<std::uint8_t> taken;  // by slot
    std::vector<std::int32_t> held;   // chunk activations after each slot
  };

  static std::int32_t change(std::size_t pass) {
    return is_forward(pass) ? 1 : is_end(pass) ? -1 : 0;
  }

  static void add_held(State& lane, std::int32_t from, std::int32_t to, std::int32_t more) {
    if (more == 0) return;
    for (std::int32_t slot = from; slot < to; ++slot) {
      lane.held[index(slot)] += more;
    }
  }

  // The slot of the op whose result `entry` needs: the same pass on the neighbour, or the pass
  // before at a turn.
  std::int32_t input(const SlotEntry& entry) const {
    const std::size_t actor = entry.actor;
    const std::size_t last = table_.size() - 1;
    const auto slot = [&](std::size_t at, Pass pass) { return table_[at][pass][entry.microbatch]; };
    switch (entry.pass) {
      case kForwardDown:
        return actor == 0 ? -1 : slot(actor - 1, kForwardDown);
      case kForwardUp:
        return actor == last ? slot(actor, kForwardDown) : slot(actor + 1, kForwardUp);
      case kBackwardDown:
        return actor == 0 ? slot(actor, kForwardUp) : slot(actor - 1, kEndDown);
      case kBackwardUp:
        return actor == last ? slot(actor, kEndDown) : slot(actor + 1, kEndUp);
      case kEndDown:
        return slot(actor, kBackwardDown);
      case kEndUp:
        return slot(actor, kBackwardUp);
    }
    return -1;
  }

  std::int32_t target(const SlotEntry& entry) const {
    const State& lane = lanes_[entry.actor];
    const auto taken = [&](std::int32_t slot) { return lane.taken[index(slot)] != 0; };
    std::int32_t to = input(entry) + 1;
    if (entry.microbatch > 0) {
      to = std::max(to, table_[entry.actor][entry.pass][entry.microbatch - 1] + 1);
    }
    if (is_forward(entry.pass)) {
      std::int32_t room = entry.slot;
      while (room > to && lane.held[index(room) - 1] < peak_) --room;
      to = room;
    }
    const bool first_half = entry.pass == kBackwardDown || entry.pass == kBackwardUp;
    while (to < entry.slot && (taken(to) || (first_half && taken(to + 1)))) ++to;
    return to;
  }

  SlotTable& table_;
  std::vector<State> lanes_;
  std::int32_t peak_ = 0;
};

std::vector<Step> steps_of(const SlotLane& lane, std::int32_t actors, std::int32_t actor) {
  std::vector<Step> steps;
  for (const SlotEntry& entry : by_time({lane})) {
    if (is_end(entry.pass)) continue;
    const bool first_chunk = entry.pass == kForwardDown || entry.pass == kBackwardUp;
    steps.push_back(
        {v_op(is_forward(entry.pass) ? OpKind::Forward : OpKind::Backward, actors, actor,
              first_chunk ? 0 : 1, static_cast<std::int32_t>(entry.microbatch))});
  }
  return steps;
}

}  // namespace

Schedule one_f_one_b_v(const GenerateOptions& options) {
  refuse_grid("1f1b_v", options);
  SlotTable table = repeated(block(options.actors), options.microbatches);
  Pull(table).run();
  Schedule schedule = v_schedule("1f1b_v", options);
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    const auto at = index(actor);
    schedule.order[at] = steps_of(table[at], options.actors, actor);
  }
  return schedule;
}

}  // namespace penstock
