// What the deadlock checker says of an order of transfers is what happens to actors that run it.
#include "penstock/deadlock.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "../generate_near.h"
#include "actor_plan.h"
#include "fake_device.h"
#include "grouped_transport.h"
#include "list_schedule.h"
#include "penstock/check.h"
#include "penstock/depend.h"
#include "penstock/lowering.h"
#include "runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int32_t number(std::int32_t first, std::int32_t last) {
    const auto count = static_cast<std::uint64_t>(last - first + 1);
    return first + static_cast<std::int32_t>(random_() % count);
  }
  bool chance(std::int32_t in) { return number(0, in - 1) == 0; }
  template <typename T>
  std::size_t place_in(const T& things) {
    return static_cast<std::size_t>(random_() % things.size());
  }
  std::uint64_t seed() { return random_(); }

 private:
  std::mt19937_64 random_;
};

// Of the catalogue, at any sizes.
Schedule any_generated(Draw& draw) {
  const auto all = generators();
  for (;;) {
    const Generator& generator = all[draw.place_in(all)];
    const auto schedule = generate_near(generator.name, {.actors = draw.number(2, 4),
                                                         .chunks = draw.number(1, 3),
                                                         .microbatches = draw.number(1, 6),
                                                         .slices = draw.number(1, 2)});
    if (schedule && executable_problems(lower(*schedule)).empty()) return *schedule;
  }
}

// Any order that the dependencies allow.
Schedule any_listed(Draw& draw, bool pairs) {
  const std::int32_t actors = draw.number(2, 4);
  const std::int32_t chunks = draw.number(1, 2);
  const std::int32_t microbatches = draw.number(1, 5);
  const Pipeline shapes[] = {loop_pipeline(actors, chunks, microbatches),
                             v_pipeline(actors, microbatches),
                             two_way(actors, chunks, microbatches)};
  return list_schedule(shapes[draw.number(0, 2)],
                       {.seed = draw.seed(), .split = draw.chance(2), .pairs = pairs});
}

// Whether every op comes after those of its inputs that its own actor makes: then whatever else is
// wrong with the order is that actors wait for each other.
bool is_legal_per_actor(const Schedule& schedule) {
  const Dependencies dependencies(schedule.pipeline);
  std::vector<std::uint8_t> done(static_cast<std::size_t>(dependencies.results()), 0);
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    for (const Step& step : schedule.order[actor]) {
      for (const Op& input : dependencies.inputs(step.op)) {
        const auto stage = static_cast<std::size_t>(input.stage);
        if (schedule.pipeline.stages[stage].actor != static_cast<std::int32_t>(actor)) continue;
        const std::int32_t needed = dependencies.result(input);
        if (needed >= 0 && done[static_cast<std::size_t>(needed)] == 0) return false;
      }
      const std::int32_t result = dependencies.result(step.op);
      if (result >= 0) done[static_cast<std::size_t>(result)] = 1;
    }
  }
  return true;
}

// One to four swaps of an actor's steps, neighbours or not, as far as they are legal.
Schedule swapped(Schedule schedule, Draw& draw) {
  for (std::int32_t i = draw.number(1, 4); i > 0; --i) {
    const std::size_t actor = draw.place_in(schedule.order);
    if (schedule.order[actor].empty()) continue;
    const std::size_t a = draw.place_in(schedule.order[actor]);
    const std::size_t b = draw.chance(2) ? draw.place_in(schedule.order[actor])
                                         : (a + 1) % schedule.order[actor].size();
    std::swap(schedule.order[actor][a].op, schedule.order[actor][b].op);
    if (is_legal_per_actor(schedule)) continue;
    std::swap(schedule.order[actor][a].op, schedule.order[actor][b].op);
  }
  return schedule;
}

// The naive program of `schedule` with the steps of `order`, which may be one that lower() refuses:
// receive, compute, send. REQUIRES: no pairs.
Program naive_in_order(const Schedule& schedule, const Schedule& order) {
  Program program = lower(schedule, {.placement = MessagePlacement::Naive});
  std::map<Op, std::int32_t> compute_of;
  for (std::size_t i = 0; i < program.computes.size(); ++i) {
    compute_of[program.computes[i].op] = static_cast<std::int32_t>(i);
  }
  std::map<std::int32_t, std::int32_t> sent_by;
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    sent_by[program.messages[i].producer] = static_cast<std::int32_t>(i);
  }
  for (std::size_t actor = 0; actor < program.actions.size(); ++actor) {
    std::vector<Action> actions;
    for (const Step& step : order.order[actor]) {
      const std::int32_t compute = compute_of.at(step.op);
      const std::int32_t awaits = program.computes[static_cast<std::size_t>(compute)].awaits;
      if (awaits >= 0) actions.push_back({ActionKind::Receive, awaits});
      actions.push_back({ActionKind::Compute, compute});
      if (const auto sent = sent_by.find(compute); sent != sent_by.end()) {
        actions.push_back({ActionKind::Send, sent->second});
      }
    }
    std::copy(actions.begin(), actions.end(), program.actions[actor].begin());
  }
  return program;
}

// Whether an actor may run `second` before `first`, which stands right before it: one of them is a
// transfer, and it stays behind its producer or before its consumer, outside of pairs, and behind
// the sends of its channel.
bool may_change_places(const Program& program, const Action& first, const Action& second) {
  const auto message = [&](const Action& action) -> const Message& {
    return program.messages[static_cast<std::size_t>(action.index)];
  };
  if (is_transfer(first.kind) && is_transfer(second.kind)) {
    const Message& a = message(first);
    const Message& b = message(second);
    return a.from != b.from || a.to != b.to || a.kind != b.kind ||
           first.kind == ActionKind::Receive;
  }
  const Action& compute = is_transfer(first.kind) ? second : first;
  const Action& transfer = is_transfer(first.kind) ? first : second;
  if (compute.kind != ActionKind::Compute || !is_transfer(transfer.kind)) return false;
  const auto i = static_cast<std::size_t>(compute.index);
  const bool in_pair =
      program.computes[i].overlaps_previous ||
      (i + 1 < program.computes.size() && program.computes[i + 1].overlaps_previous);
  const Message& moved = message(transfer);
  return !in_pair && moved.producer != compute.index && moved.consumer != compute.index;
}

// Some transfers a few places earlier or later.
void move_transfers(Program& program, Draw& draw) {
  for (std::int32_t moves = draw.number(0, 6); moves > 0; --moves) {
    std::vector<Action>& actions = program.actions[draw.place_in(program.actions)];
    std::size_t at = draw.place_in(actions);
    const bool later = draw.chance(2);
    for (std::int32_t places = draw.number(1, 8); places > 0; --places) {
      if (later ? at + 1 == actions.size() : at == 0) break;
      const std::size_t first = later ? at : at - 1;
      if (!may_change_places(program, actions[first], actions[first + 1])) break;
      std::swap(actions[first], actions[first + 1]);
      at = later ? at + 1 : at - 1;
    }
  }
}

// What a step ended with: nothing, or that all actors are blocked, and where.
std::string ending(const Program& program, std::optional<TransportKind> kind, std::uint64_t seed) {
  const RunPlan plan = fake_plan(program, 1);
  const MakeDevice fake = [](const RunPlan& of, std::int32_t) {
    return std::make_unique<FakeDevice>(of, false);
  };
  try {
    with_actors(
        program.schedule.pipeline.actors,
        [&](Transport& transport) {
          if (kind != TransportKind::Grouped) {
            run_actor(plan, {}, fake, transport);
            return;
          }
          GroupedTransport grouped(transport, program);
          run_actor(plan, {}, fake, grouped);
        },
        {.seed = seed, .longest_delay = 30us, .rendezvous = kind == TransportKind::Rendezvous});
  } catch (const RunError& error) {
    return error.what();
  }
  return {};
}

struct Count {
  int through = 0;
  int stuck = 0;
  int stuck_without_rendezvous = 0;
};

// The checker's verdict is what happens, and the actors of its ring are stuck where it says.
void expect_agreement(const Program& program, TransportKind kind, Draw& draw, Count& count) {
  const TransportVerdict verdict = check_transport(program, kind);
  const std::string end = ending(program, kind, draw.seed());
  ASSERT_EQ(verdict.fine(), end.empty())
      << fmt::format("{}\n{}", fmt::join(explain(program, verdict), "\n"), end);
  ++(verdict.fine() ? count.through : count.stuck);
  if (verdict.fine()) return;
  ASSERT_NE(end.find("all actors are blocked"), std::string::npos) << end;
  for (const StuckActor& stuck : verdict.ring) {
    const Action& action =
        program
            .actions[static_cast<std::size_t>(stuck.actor)][static_cast<std::size_t>(stuck.action)];
    const std::string line =
        fmt::format("actor {}: at {}, lacks", stuck.actor, to_string(program, action));
    EXPECT_NE(end.find(line), std::string::npos) << line << "\n" << end;
  }
}

// `expected`, if known: whether the program gets through where a receive is waited for at its use
// and a send never.
void expect_agreement(const Program& program, std::optional<bool> expected, Draw& draw,
                      Count& count) {
  const bool runs = ending(program, std::nullopt, draw.seed()).empty();
  ASSERT_EQ(runs, expected.value_or(runs));
  count.stuck_without_rendezvous += runs ? 0 : 1;
  const int through = count.through;
  expect_agreement(program, TransportKind::Rendezvous, draw, count);
  expect_agreement(program, TransportKind::Grouped, draw, count);
  EXPECT_TRUE(runs || count.through == through) << "a rendezvous makes nothing better";
}

// Steps in any legal order, lowered by any policy.
Program any_lowered(Draw& draw) {
  Schedule schedule = draw.chance(2) ? any_generated(draw) : any_listed(draw, draw.chance(2));
  if (draw.chance(2)) {
    Schedule other = swapped(schedule, draw);
    if (check(other).empty()) schedule = std::move(other);
  }
  const auto policies = lowering_policies();
  return lower(std::move(schedule), {.placement = policies[draw.place_in(policies)].placement});
}

void try_one(std::int32_t number, Draw& draw, Count& count) {
  if (number % 3 == 0) {
    expect_agreement(any_lowered(draw), true, draw, count);
  } else if (number % 3 == 1) {
    // Transfers moved about: a send that comes late may hold up everybody.
    Program program = any_lowered(draw);
    move_transfers(program, draw);
    expect_agreement(program, std::nullopt, draw, count);
  } else {
    // Steps swapped: the schedule itself may be one that cannot run.
    const Schedule schedule = any_listed(draw, false);
    const Schedule order = swapped(schedule, draw);
    expect_agreement(naive_in_order(schedule, order), check(order).empty(), draw, count);
  }
}

// 500 schedules; 10,000 with PENSTOCK_LONG_TESTS=1.
TEST(Deadlock, TheVerdictIsWhatHappens) {
  const char* wanted = std::getenv("PENSTOCK_LONG_TESTS");
  const bool long_run = wanted != nullptr && std::string(wanted) == "1";
  const int schedules = long_run ? 10'000 : 500;
  Count count;
  for (int i = 0; i < schedules && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("schedule {}", i));
    Draw draw(static_cast<std::uint64_t>(i));
    try_one(i, draw, count);
  }
  EXPECT_GE(count.through, schedules / 5);
  EXPECT_GE(count.stuck, schedules / 5);
  EXPECT_GE(count.stuck_without_rendezvous, schedules / 25);
}

}  // namespace
}  // namespace penstock
