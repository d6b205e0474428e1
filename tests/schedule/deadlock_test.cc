// The deadlock checker: against an independent one's table, against the obvious way, and in words.
#include "penstock/deadlock.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../add_updates.h"
#include "../generate_near.h"
#include "lower/place.h"
#include "penstock/check.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/lowering.h"
#include "tables.h"

namespace penstock {
namespace {

using testing::ElementsAre;

struct Cell {
  std::string schedule;
  std::string option;
  GenerateOptions sizes;
  std::string lowering;
  std::string transport;
  std::string verdict;
  std::string where;
  std::string table;  // torch's
};

Cell parse_cell(const std::string& line) {
  std::istringstream in(line);
  Cell cell;
  std::string sizes[3];
  std::getline(in, cell.schedule, ',');
  std::getline(in, cell.option, ',');
  for (std::string& size : sizes) std::getline(in, size, ',');
  for (std::string* field :
       {&cell.lowering, &cell.transport, &cell.verdict, &cell.where, &cell.table}) {
    std::getline(in, *field, ',');
  }
  cell.sizes = {.actors = std::stoi(sizes[0]),
                .chunks = std::stoi(sizes[1]),
                .microbatches = std::stoi(sizes[2])};
  if (const std::size_t equals = cell.option.find('='); equals != std::string::npos) {
    cell.sizes.option[cell.option.substr(0, equals)] = cell.option.substr(equals + 1);
  }
  return cell;
}

std::string to_text(const Cell& cell) {
  return fmt::format("{} {} p={} m={}, {}, {}", cell.schedule, cell.option, cell.sizes.actors,
                     cell.sizes.microbatches, cell.lowering, cell.transport);
}

std::vector<Cell> matrix() {
  std::ifstream in(TEST_DATA "/deadlock/matrix.csv");
  std::vector<Cell> cells;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) cells.push_back(parse_cell(line));
  return cells;
}

TransportKind kind_called(const std::string& name) {
  const auto kinds = transport_kinds();
  return std::find_if(kinds.begin(), kinds.end(),
                      [&](const TransportRow& row) { return row.name == name; })
      ->kind;
}

std::string verdict_word(const TransportVerdict& verdict) {
  if (!verdict.ring.empty()) return "deadlock";
  return verdict.queues.empty() ? "ok" : std::to_string(verdict.queues.size());
}

// `where`: the transfers at which actors 0, 1, .. are stuck (their table names the first few).
void expect_stuck_at(const Program& program, const std::vector<StuckActor>& ring,
                     const std::string& where) {
  std::istringstream in(where);
  std::vector<std::string> stuck{std::istream_iterator<std::string>(in), {}};
  for (const StuckActor& one : ring) {
    const auto actor = static_cast<std::size_t>(one.actor);
    if (actor >= stuck.size()) continue;
    const Action& action = program.actions[actor][static_cast<std::size_t>(one.action)];
    EXPECT_EQ(cell_of(program, action), stuck[actor]);
  }
}

// `where`: the two actors of the first pair and the place in its queue.
void expect_first_at(const OutOfOrder& queue, const std::string& where) {
  EXPECT_EQ(fmt::format("{} {} {}", queue.from, queue.to, queue.position), where);
}

// torch's own order of transfers, in which blank cells of its tables have a say.
Program in_torchs_order(const std::string& table) {
  const std::string path = TEST_DATA "/orders/torch/" + table + ".comms.csv";
  return read_program(read_file(path), path).value();
}

Program program_of(const Cell& cell) {
  return lower(generate(cell.schedule, cell.sizes), {.placement = *parse_lowering(cell.lowering)});
}

void expect_verdict(const Program& program, const Cell& cell) {
  const TransportVerdict verdict = check_transport(program, kind_called(cell.transport));
  EXPECT_EQ(verdict_word(verdict), cell.verdict);
  EXPECT_EQ(explain(program, verdict).empty(), verdict.fine());
  if (cell.where.empty()) return;
  if (verdict.queues.empty()) {
    expect_stuck_at(program, verdict.ring, cell.where);
  } else {
    expect_first_at(verdict.queues.front(), cell.where);
  }
}

// Where torch's table has blanks, what it defers starts from another order than ours.
TEST(DeadlockMatrix, AgreesWithTheIndependentCheckerInEveryCell) {
  const std::vector<Cell> cells = matrix();
  EXPECT_EQ(cells.size(), 197u);
  for (const Cell& cell : cells) {
    SCOPED_TRACE(to_text(cell));
    Program program = cell.table.empty() ? program_of(cell) : in_torchs_order(cell.table);
    if (!cell.table.empty()) place_deferred(program);
    expect_verdict(program, cell);
  }
}

// Our order, which knows no blanks, has the same verdicts but for 1F1B.
TEST(DeadlockMatrix, BlanksMatterFor1F1BAlone) {
  std::set<std::string> different;
  for (const Cell& cell : matrix()) {
    if (cell.table.empty()) continue;
    const TransportVerdict verdict = check_transport(program_of(cell), kind_called(cell.transport));
    if (verdict_word(verdict) != cell.verdict) different.insert(cell.table + " " + cell.transport);
  }
  EXPECT_THAT(different, ElementsAre("1f1b_p4_m4 pair_fifo", "1f1b_p4_m4 rendezvous",
                                     "1f1b_p4_m8 pair_fifo", "1f1b_p4_m8 rendezvous"));
}

// Each queue written out at both ends and compared.
std::vector<OutOfOrder> by_writing_out(const Program& program, TransportKind kind) {
  using Key = std::tuple<std::int32_t, std::int32_t, OpKind>;
  std::map<Key, std::array<std::vector<std::int32_t>, 2>> queues;
  for (std::size_t a = 0; a < program.actions.size(); ++a) {
    const auto actor = static_cast<std::int32_t>(a);
    for (const Action& action : program.actions[a]) {
      if (!is_transfer(action.kind)) continue;
      const Message& m = program.messages[static_cast<std::size_t>(action.index)];
      Key key{m.from, m.to, m.kind};
      if (kind != TransportKind::ChannelFifo) std::get<2>(key) = OpKind::Forward;
      if (kind == TransportKind::PairFifo && m.from > m.to) key = {m.to, m.from, OpKind::Forward};
      queues[key][std::get<0>(key) == actor ? 0 : 1].push_back(action.index);
    }
  }
  std::vector<OutOfOrder> wrong;
  for (const auto& [key, ends] : queues) {
    const auto [at_from, at_to] =
        std::mismatch(ends[0].begin(), ends[0].end(), ends[1].begin(), ends[1].end());
    if (at_from == ends[0].end()) continue;
    wrong.push_back({.from = std::get<0>(key),
                     .to = std::get<1>(key),
                     .kind = std::get<2>(key),
                     .position = static_cast<std::int32_t>(at_from - ends[0].begin()),
                     .at_from = *at_from,
                     .at_to = *at_to});
  }
  return wrong;
}

RC_GTEST_PROP(Deadlock, QueuesAreComparedAtBothEnds, ()) {
  const auto all = generators();
  const auto policies = lowering_policies();
  const auto schedule = generate_near(all[*rc::gen::inRange<std::size_t>(0, all.size())].name,
                                      {.actors = *rc::gen::inRange(2, 6),
                                       .chunks = *rc::gen::inRange(1, 4),
                                       .microbatches = *rc::gen::inRange(1, 12)});
  if (!schedule) RC_DISCARD("refused");
  const LoweringPolicy& policy = policies[*rc::gen::inRange<std::size_t>(0, policies.size())];
  const Program program = lower(*schedule, {.placement = policy.placement});
  for (const TransportRow& row : transport_kinds()) {
    const TransportVerdict verdict = check_transport(program, row.kind);
    RC_ASSERT(policy.placement != MessagePlacement::Linear || verdict.fine());
    if (row.kind == TransportKind::Rendezvous || row.kind == TransportKind::Grouped) continue;
    RC_ASSERT(verdict.queues == by_writing_out(program, row.kind));
  }
}

TEST(Deadlock, SaysWhoWaitsForWhom) {
  const auto words = [](const char* name, const GenerateOptions& sizes, TransportKind kind) {
    const Program program = lower(generate(name, sizes), {.placement = MessagePlacement::Naive});
    return explain(program, check_transport(program, kind));
  };
  const GenerateOptions three{.actors = 3, .microbatches = 4};
  EXPECT_THAT(words("1f1b", three, TransportKind::Rendezvous),
              ElementsAre("actor 1 waits at the send of the activation of 1F1 to actor 2",
                          "actor 2 waits at the send of the gradient of 2B0 to actor 1"));
  EXPECT_THAT(words("1f1b", three, TransportKind::Grouped), ElementsAre());
  EXPECT_THAT(words("1f1b", three, TransportKind::PairFifo),
              ElementsAre("actor 0 has the send of the activation of 0F2 to actor 1 in place 2",
                          "actor 1 has the send of the gradient of 1B0 to actor 0 in place 2",
                          "actor 1 has the send of the activation of 1F1 to actor 2 in place 1",
                          "actor 2 has the send of the gradient of 2B0 to actor 1 in place 1"));
  const GenerateOptions v{.actors = 2, .chunks = 2, .microbatches = 4};
  EXPECT_THAT(words("zb_v", v, TransportKind::Grouped),
              ElementsAre("actor 0 waits at the send of the activation of 0F2 to actor 1",
                          "actor 1 waits at the send of the activation of 2F1 to actor 0"));
  EXPECT_THAT(words("zb_v", v, TransportKind::EdgeFifo),
              ElementsAre("actor 0 has the send of the activation of 0F2 to actor 1 in place 2",
                          "actor 1 has the receive of the gradient of 3I0 from actor 0 in place "
                          "2"));
}

TEST(Deadlock, TheRingIsTheRingAlone) {
  const Program naive = lower(generate("1f1b", {.actors = 4, .microbatches = 8}),
                              {.placement = MessagePlacement::Naive});
  const std::vector<StuckActor> ring = check_transport(naive, TransportKind::Rendezvous).ring;
  ASSERT_EQ(ring.size(), 2u) << "actors 0 and 1 wait for them, but not they for these";
  EXPECT_EQ(ring[0].actor, 2);
  EXPECT_EQ(ring[0].peer, 3);
  EXPECT_EQ(ring[1].actor, 3);
  EXPECT_EQ(ring[1].peer, 2);
}

// Recomputations and updates of the order exchange nothing; but they split a run of neighbouring
// transfers, and move what another actor takes its turn for.
TEST(Deadlock, OpsThatExchangeNothingChangeNoQueue) {
  for (const char* name : {"1f1b", "zb_h1", "interleaved_1f1b"}) {
    const GenerateOptions sizes{.actors = 4, .chunks = name[0] == 'i' ? 2 : 1, .microbatches = 8};
    const Schedule plain = generate(name, sizes);
    Schedule more = with_recompute(plain);
    add_updates(more, [] { return true; });
    ASSERT_TRUE(check(more).empty());
    const Program one = lower(plain, {.placement = MessagePlacement::Naive});
    const Program other = lower(more, {.placement = MessagePlacement::Naive});
    for (const TransportRow& row : transport_kinds()) {
      EXPECT_TRUE(check_transport(lower(more), row.kind).fine()) << name << " " << row.name;
      if (row.kind == TransportKind::Grouped) continue;
      EXPECT_EQ(explain(other, check_transport(other, row.kind)),
                explain(one, check_transport(one, row.kind)))
          << name << " " << row.name;
    }
    const Program paired = lower(more, {.placement = MessagePlacement::Paired});
    EXPECT_TRUE(check_transport(paired, TransportKind::Grouped).fine()) << name;
  }
}

// Actor 1 would start 1F1, and so make room, with a gradient that actor 2 makes behind a transfer.
TEST(Deadlock, AWaitForRoomIsPartOfTheRing) {
  Schedule schedule = schedule_of(
      "0F0 0F1 0F2 4F3 5F3 5B3 4B3 0B0 0B1 0B2\n"
      "1F0 (1F1;1B0) 1F2 1B1 1B2\n"
      "2F0 3F3 2B0 2F1 2B1 2F2 2B2 3B3");
  schedule.pipeline.routes = {{0, 1, 2}, {3, 4, 5}};
  for (std::size_t i = 3; i < 6; ++i) schedule.pipeline.stages[i].part -= 3;
  schedule.pipeline.microbatches[3].route = 1;
  schedule.pipeline.learning.queue_capacity = 1;
  ASSERT_TRUE(check(schedule).empty());
  const Program program = lower(schedule, {.placement = MessagePlacement::Naive});
  EXPECT_THAT(explain(program, check_transport(program, TransportKind::Rendezvous)),
              ElementsAre("actor 0 waits for room for the activation of 0F2",
                          "actor 1 waits at the receive of the gradient of 2B0 from actor 2",
                          "actor 2 waits at the send of the activation of 3F3 to actor 0"));
  EXPECT_TRUE(check_transport(lower(schedule), TransportKind::Rendezvous).fine());
  schedule.pipeline.learning.queue_capacity = 2;
  const Program longer = lower(schedule, {.placement = MessagePlacement::Naive});
  EXPECT_THAT(explain(longer, check_transport(longer, TransportKind::Rendezvous)).front(),
              "actor 0 waits at the send of the activation of 0F2 to actor 1");
}

TEST(Deadlock, OneActorNeverWaits) {
  const Program program = lower(generate("gpipe", {.actors = 1, .microbatches = 3}));
  for (const TransportRow& row : transport_kinds()) {
    EXPECT_TRUE(check_transport(program, row.kind).fine()) << row.name;
  }
}

}  // namespace
}  // namespace penstock
