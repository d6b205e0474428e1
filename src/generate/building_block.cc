#include "building_block.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "penstock/index.h"
#include "slot_table.h"
#include "v_stages.h"

namespace penstock {
namespace {

// Weight gradients are in one list for both chunks, or apart: kWeight those of kInputDown,
// kWeightUp those of kInputUp.
enum Pass : std::uint8_t {
  kForwardDown,
  kForwardUp,
  kInputDown,
  kInputUp,
  kWeight,
  kWeightUp,
  kFree
};
constexpr std::size_t kGiven = 4;  // passes in a block; weight gradients are put in later

bool is_forward(std::size_t pass) {
  return pass == kForwardDown || pass == kForwardUp;
}

bool is_input(std::size_t pass) {
  return pass == kInputDown || pass == kInputUp;
}

// What runs in each slot, up to the last that is taken.
std::vector<Pass> grid(const SlotLane& lane) {
  std::int32_t last = 0;
  for (const Slots& slots : lane) last = std::max(last, slots.back());
  std::vector<Pass> passes(index(last) + 1, kFree);
  for (std::size_t pass = 0; pass < lane.size(); ++pass) {
    for (const std::int32_t slot : lane[pass]) {
      Pass& at = passes[index(slot)];
      assert(at == kFree && "no two ops of a block meet");
      at = static_cast<Pass>(pass);
    }
  }
  return passes;
}

// Puts each weight gradient into the first free slot behind its input gradient; where two compete
// and are in lists apart, kWeight's comes first.
void add_weights(SlotLane& lane, bool apart) {
  const std::vector<Pass> passes = grid(lane);
  std::array<std::int32_t, 2> waiting{};
  lane.resize(apart ? kGiven + 2 : kGiven + 1);
  for (std::size_t slot = 0; slot < passes.size() || waiting[0] + waiting[1] > 0; ++slot) {
    const Pass pass = slot < passes.size() ? passes[slot] : kFree;
    if (is_input(pass)) ++waiting[apart && pass == kInputUp ? 1 : 0];
    if (pass != kFree || waiting[0] + waiting[1] == 0) continue;
    const std::size_t which = waiting[0] > 0 ? 0 : 1;
    lane[kGiven + which].push_back(static_cast<std::int32_t>(slot));
    --waiting[which];
  }
}

void drop_weights(SlotTable& table) {
  for (SlotLane& lane : table) lane.resize(kGiven);
}

// Each op as soon as its input is there and the op before it on its actor has run.
void squeeze(SlotTable& table) {
  const std::vector<SlotEntry> entries = by_time(table);
  std::vector<std::int32_t> free_from(table.size(), 0);
  for (const SlotEntry& entry : entries) {
    std::int32_t slot = free_from[entry.actor];
    const bool down = entry.pass == kForwardDown || entry.pass == kInputDown;
    const bool up = entry.pass == kForwardUp || entry.pass == kInputUp;
    if (down && entry.actor > 0) {
      slot = std::max(slot, table[entry.actor - 1][entry.pass][entry.microbatch] + 1);
    }
    if (up && entry.actor + 1 < table.size()) {
      slot = std::max(slot, table[entry.actor + 1][entry.pass][entry.microbatch] + 1);
    }
    table[entry.actor][entry.pass][entry.microbatch] = slot;
    free_from[entry.actor] = slot + 1;
  }
}

// How many chunk activations an actor holds after each slot: a forward opens one, a weight gradient
// closes it. Weight gradients that are in no list yet run in free slots, as soon as they can.
struct Held {
  std::int32_t activations = 0;
  std::int32_t waiting = 0;  // input gradients whose weight gradient floats
  bool operator==(const Held&) const = default;

  Held after(Pass pass, bool floating) const {
    Held next = *this;
    if (is_forward(pass)) ++next.activations;
    if (pass == kWeight) --next.activations;
    if (floating && is_input(pass)) ++next.waiting;
    if (floating && pass == kFree && waiting > 0) {
      --next.waiting;
      --next.activations;
    }
    return next;
  }
};

// Moves the ops of warm-up and cool-down (before actor 0 first ends a microbatch, and from its last
// first forward on) to earlier free slots, one after the other in time, none so that an actor holds
// more than the most that any holds at the start.
class Reorder {
 public:
  // `floating`: the table has no weight gradients; then only the cool-down moves.
  Reorder(SlotTable& table, bool floating) : table_(table), floating_(floating) {
    for (const SlotLane& lane : table) {
      grids_.push_back(grid(lane));
      held_.emplace_back();
      for (const Pass pass : grids_.back()) {
        const Held before = held_.back().empty() ? Held{} : held_.back().back();
        held_.back().push_back(before.after(pass, floating));
        peak_ = std::max(peak_, held_.back().back().activations);
      }
    }
    inputs_.resize(table.size());
  }

  void run() {
    enum { kWarmUp, kSteady, kCoolDown } phase = kWarmUp;
    const std::size_t last = table_[0][kForwardDown].size() - 1;
    for (const SlotEntry& entry : by_time(table_)) {
      if (phase == kWarmUp && entry.pass == kInputUp && entry.actor == 0) phase = kSteady;
      const bool stays = phase == kSteady || (phase == kWarmUp && floating_);
      if (phase == kSteady && entry.pass == kForwardDown && entry.microbatch == last) {
        phase = kCoolDown;
      }
      std::int32_t& slot = table_[entry.actor][entry.pass][entry.microbatch];
      if (!stays) slot = floating_ ? pulled_floating(entry) : pulled(entry);
      if (is_input(entry.pass)) note_input(entry.actor, slot);
    }
  }

 private:
  // The input gradients that came so far, ascending: the i-th weight gradient waits for the i-th.
  void note_input(std::size_t actor, std::int32_t slot) {
    Slots& inputs = inputs_[actor];
    inputs.insert(std::upper_bound(inputs.begin(), inputs.end(), slot), slot);
  }

  std::int32_t earliest(const SlotEntry& entry) const {
    const auto slot_of = [&](std::size_t actor, std::size_t pass) {
      return table_[actor][pass][entry.microbatch];
    };
    std::int32_t after = -1;
    const bool down = entry.pass == kForwardDown || entry.pass == kInputDown;
    if (entry.pass == kWeight) {
      after = inputs_[entry.actor][entry.microbatch];
    } else if (down && entry.actor > 0) {
      after = slot_of(entry.actor - 1, entry.pass);
    } else if (!down && entry.actor + 1 < table_.size()) {
      after = slot_of(entry.actor + 1, entry.pass);
    }
    if (entry.pass != kWeight && entry.pass > 0) {
      after = std::max(after, slot_of(entry.actor, entry.pass - 1));
    }
    if (entry.microbatch > 0) {
      after = std::max(after, table_[entry.actor][entry.pass][entry.microbatch - 1]);
    }
    return after + 1;
  }

  Held held_before(std::size_t actor, std::int32_t slot) const {
    return slot == 0 ? Held{} : held_[actor][index(slot) - 1];
  }

  void move(std::size_t actor, std::size_t pass, std::int32_t from, std::int32_t to) {
    grids_[actor][index(from)] = kFree;
    grids_[actor][index(to)] = static_cast<Pass>(pass);
  }

  // The slot to which `entry` moves when all weight gradients have theirs: moving a forward holds
  // one more on the way, moving a weight gradient one less.
  std::int32_t pulled(const SlotEntry& entry) {
    std::vector<Held>& held = held_[entry.actor];
    const std::vector<Pass>& passes = grids_[entry.actor];
    std::int32_t to = earliest(entry);
    if (is_forward(entry.pass)) {
      std::int32_t room = entry.slot;
      while (room > to && held[index(room) - 1].activations < peak_) --room;
      to = room;
    }
    while (to < entry.slot && passes[index(to)] != kFree) ++to;
    const std::int32_t more = is_forward(entry.pass) ? 1 : entry.pass == kWeight ? -1 : 0;
    for (std::int32_t slot = to; slot < entry.slot; ++slot) {
      held[index(slot)].activations += more;
    }
    move(entry.actor, entry.pass, entry.slot, to);
    return to;
  }

  // The same when weight gradients float: what the move does to them has to be played through.
  std::int32_t pulled_floating(const SlotEntry& entry) {
    for (std::int32_t to = earliest(entry); to < entry.slot; ++to) {
      if (grids_[entry.actor][index(to)] != kFree) continue;
      move(entry.actor, entry.pass, entry.slot, to);
      if (replay(entry.actor, to, entry.slot)) return to;
      move(entry.actor, entry.pass, to, entry.slot);
    }
    return entry.slot;
  }

  // Plays the actor's grid from `first`, until after `last` nothing differs from before. Keeps the
  // result, unless it exceeds the peak: then false, and nothing has changed.
  bool replay(std::size_t actor, std::int32_t first, std::int32_t last) {
    std::vector<Held>& held = held_[actor];
    Held now = held_before(actor, first);
    replayed_.clear();
    for (auto slot = index(first); slot < held.size(); ++slot) {
      now = now.after(grids_[actor][slot], true);
      if (now.activations > peak_) return false;
      if (slot > index(last) && now == held[slot]) break;
      replayed_.push_back(now);
    }
    std::copy(replayed_.begin(), replayed_.end(), held.begin() + first);
    return true;
  }

  SlotTable& table_;
  bool floating_;
  std::vector<std::vector<Pass>> grids_;  // [actor][slot]
  std::vector<std::vector<Held>> held_;   // [actor], after each slot
  std::vector<Slots> inputs_;             // [actor]
  std::vector<Held> replayed_;
  std::int32_t peak_ = 0;
};

std::vector<Step> steps_of(const SlotLane& lane, std::int32_t actors, std::int32_t actor) {
  constexpr std::pair<OpKind, std::int32_t> kOps[] = {
      // with the chunk, by list
      {OpKind::Forward, 0},       {OpKind::Forward, 1},        {OpKind::BackwardInput, 1},
      {OpKind::BackwardInput, 0}, {OpKind::BackwardWeight, 1}, {OpKind::BackwardWeight, 0}};
  std::vector<Step> steps;
  for (const SlotEntry& entry : by_time({lane})) {
    const auto [kind, chunk] = kOps[entry.pass];
    steps.push_back(
        {v_op(kind, actors, actor, chunk, static_cast<std::int32_t>(entry.microbatch))});
  }
  return steps;
}

}  // namespace

Schedule repeat_block(const char* name, const GenerateOptions& options, const Block& block) {
  refuse_grid(name, options);
  SlotTable table = repeated(block, options.microbatches);
  for (SlotLane& lane : table) add_weights(lane, false);
  Reorder(table, false).run();
  squeeze(table);
  drop_weights(table);
  Reorder(table, true).run();
  for (SlotLane& lane : table) add_weights(lane, false);
  squeeze(table);
  drop_weights(table);
  for (SlotLane& lane : table) add_weights(lane, true);
  Schedule schedule = v_schedule(name, options);
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    const auto at = index(actor);
    schedule.order[at] = steps_of(table[at], options.actors, actor);
  }
  return schedule;
}

}  // namespace penstock
