#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/check.h"
#include "penstock/generate.h"
#include "penstock/program.h"
#include "tables.h"

namespace penstock {
namespace {

// An actor's program in torch's cells: "0SEND_F3" names the stage that gave, "1RECV_F3" the one
// that takes.
std::vector<Row> comms_of(const Program& program) {
  std::vector<Row> rows;
  for (const std::vector<Action>& actions : program.actions) {
    Row& row = rows.emplace_back();
    for (const Action& action : actions) {
      const auto i = static_cast<std::size_t>(action.index);
      if (action.kind == ActionKind::Compute) {
        row.push_back(to_string(program.computes[i].op));
        continue;
      }
      const Message& message = program.messages[i];
      const bool send = action.kind == ActionKind::Send;
      const auto end = static_cast<std::size_t>(send ? message.producer : message.consumer);
      const Op& op = program.computes[end].op;
      row.push_back(std::to_string(op.stage) + (send ? "SEND_" : "RECV_") + letter(message.kind) +
                    std::to_string(op.microbatch));
    }
  }
  return rows;
}

// A pair is one cell for torch and two actions for us.
std::vector<Row> split_pairs(std::vector<Row> rows) {
  for (Row& row : rows) {
    Row cells;
    for (const std::string& cell : row) {
      if (cell.front() != '(') {
        cells.push_back(cell);
        continue;
      }
      const std::size_t middle = cell.find(';');
      cells.push_back(cell.substr(1, middle - 1));
      cells.push_back(cell.substr(middle + 1, cell.find(')') - middle - 1));
    }
    row = std::move(cells);
  }
  return rows;
}

std::vector<Row> sorted(std::vector<Row> rows) {
  for (Row& row : rows) std::sort(row.begin(), row.end());
  return rows;
}

class Comms : public testing::TestWithParam<const char*> {};

// Blanks move torch's transfers about; without them each actor has the same cells.
TEST_P(Comms, HaveTheCellsOfTorch) {
  const std::string file = std::string("torch/") + GetParam();
  const Schedule schedule = schedule_of(read_rows(file + ".compute.csv"));
  ASSERT_THAT(check(schedule), testing::IsEmpty());
  const Program program = lower(schedule, {.step_end = false});
  EXPECT_EQ(sorted(comms_of(program)), sorted(split_pairs(read_rows(file + ".comms.csv"))));
}

INSTANTIATE_TEST_SUITE_P(Torch, Comms,
                         testing::Values("gpipe_p2_m2", "gpipe_p2_m4", "gpipe_p4_m4", "gpipe_p4_m8",
                                         "1f1b_p2_m2", "1f1b_p2_m4", "1f1b_p4_m4", "1f1b_p4_m8",
                                         "interleaved1f1b_p2_v2_m4", "interleaved1f1b_p4_v2_m3",
                                         "interleaved1f1b_p4_v2_m8", "interleaved1f1b_p4_v4_m16",
                                         "looped_bfs_p2_v2_m4", "looped_bfs_p4_v2_m3",
                                         "looped_bfs_p4_v2_m8", "looped_bfs_p4_v4_m16", "zbv_p4_m8",
                                         "dualpipev_p4_m8", "interleaved_zb1p_p4_v2_m8"));

}  // namespace
}  // namespace penstock
