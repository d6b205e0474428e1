// The sends and receives of torch's tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../generate_near.h"
#include "penstock/check.h"
#include "penstock/deadlock.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/transports.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string faults(const std::string& csv) {
  try {
    read_schedule(csv, "t.csv");
  } catch (const Error& error) {
    std::string text;
    for (const Problem& problem : error.problems()) {
      text += problem.where + ": " + problem.what + "; " + problem.hint + "\n";
    }
    return text;
  }
  return {};
}

TEST(TorchTransfers, EveryFaultIsTold) {
  EXPECT_EQ(faults("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"), "");
  EXPECT_EQ(
      faults("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
      "t.csv:1, cell 3: 0B0 needs another actor's, but 0RECV_B0 is missing; put it in front of "
      "0B0\n");
  EXPECT_EQ(faults("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n"),
            "t.csv:2, cell 2: 1RECV_F0 stands behind 1F0; put it in front of 1F0\n");
  EXPECT_EQ(
      faults("0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n"),
      "t.csv:1, cell 1: 0SEND_F0 stands in front of 0F0; put it behind 0F0\n"
      "t.csv:2, cell 3: 1B0 is needed by another actor, but 1SEND_B0 is missing; put it behind "
      "1B0\n");
  EXPECT_EQ(faults("0F0,0SEND_F0,0B0\n"), "t.csv:1, cell 2: nobody needs 0SEND_F0; leave it out\n");
  EXPECT_EQ(faults("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
            "t.csv:1, cell 3: 0SEND_F0 is repeated; the first is cell 2\n");
}

// Whatever is done to one transfer of a right table is found.
RC_GTEST_PROP(TorchTransfers, OneThatIsMissingMovedOrAddedIsFound, ()) {
  const auto actors = *rc::gen::inRange<std::int32_t>(2, 5);
  const auto microbatches = *rc::gen::inRange<std::int32_t>(1, 6);
  const std::string name = *rc::gen::element<std::string>("gpipe", "1f1b", "zb_h1");
  if (name == "zb_h1") RC_PRE(microbatches >= actors);
  TorchTable table =
      read_torch(write_schedule(generate(name, {.actors = actors, .microbatches = microbatches}),
                                Format::TorchComms),
                 "t.csv");
  RC_ASSERT(faults(write_torch(table)).empty());
  std::vector<std::string>& row = table.rows[*rc::gen::inRange<std::size_t>(0, table.rows.size())];
  std::vector<std::size_t> transfers;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].find('_') != std::string::npos) transfers.push_back(i);
  }
  const auto at = static_cast<std::ptrdiff_t>(*rc::gen::elementOf(transfers));
  const std::string cell = row[static_cast<std::size_t>(at)];
  const bool sends = cell.find("SEND") != std::string::npos;
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      row.erase(row.begin() + at);
      break;
    case 1:  // where it can never be right
      row.erase(row.begin() + at);
      row.insert(sends ? row.begin() : row.end(), cell);
      break;
    default:
      row.insert(row.begin() + at, cell);
  }
  RC_ASSERT_FALSE(faults(write_torch(table)).empty());
}

// The order of the file is what is judged, and what torch defers.
TEST(TorchTransfers, TheFilesOwnOrderIsTried) {
  const std::string csv = "0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1SEND_B0,1B0\n";
  const std::string late = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
  EXPECT_THAT(faults(csv), HasSubstr("1SEND_B0 stands in front of 1B0"));
  const std::string stuck = "0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
  const auto verdicts = [](const std::string& table) {
    const Schedule schedule = read_schedule(table, "t.csv");
    const auto trials =
        try_transports(schedule, lowering_policies().first(1), read_program(table, "t.csv"));
    std::vector<bool> fine;
    for (const TransportTrial& trial : trials) fine.push_back(trial.verdict.fine());
    return std::vector<bool>(fine.begin(), fine.begin() + 2);  // "file": rendezvous, grouped
  };
  EXPECT_THAT(verdicts(late), ElementsAre(true, true));
  EXPECT_THAT(verdicts(stuck), ElementsAre(false, true));
}

TEST(TorchTransfers, OtherFilesHaveNoProgramOfTheirOwn) {
  EXPECT_FALSE(read_program("0: 0F0 0B0\n", "t.txt").has_value());
  EXPECT_FALSE(read_program("0F0,0B0\n", "t.csv").has_value());
}

}  // namespace
}  // namespace penstock
