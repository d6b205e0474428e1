#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "penstock/formats.h"
#include "testing_files.h"
#include "torch_tables.h"

namespace penstock {
namespace {

TorchTable current(const std::string& name) {
  return read_torch(data_file("torch_csv/" + name + ".csv"), name, TorchGrammar::Current);
}

// references: what torch's runtime executes, 27 tables.
TEST(TorchFsdp, EveryTableOfTorchsRuntimeComesFromItsComputes) {
  const std::vector<std::string> names = tables("derived", ".lowered_fsdp.csv");
  EXPECT_EQ(names.size(), 27u);
  for (const std::string& name : names) {
    const std::string expected = data_file(name + ".lowered_fsdp.csv");
    for (const std::string from : {".compute.csv", ".comms.csv", ".lowered_fsdp.csv"}) {
      EXPECT_EQ(convert_schedule(data_file(name + from), name, {}, Format::TorchFsdp), expected)
          << name << from;
    }
    const Schedule schedule = read_schedule(data_file(name + ".compute.csv"), name);
    EXPECT_EQ(write_schedule(schedule, Format::TorchFsdp), expected) << name;
    EXPECT_EQ(read_schedule(expected, name), schedule) << name;
    // Back: blanks are gone.
    EXPECT_EQ(convert_schedule(expected, name, {}, Format::TorchCompute),
              write_schedule(schedule, Format::TorchCompute));
    EXPECT_EQ(convert_schedule(expected, name, {}, Format::TorchComms),
              write_schedule(schedule, Format::TorchComms));
  }
}

TEST(TorchPasses, GiveTheTablesOfTorchsOwnTests) {
  EXPECT_EQ(add_unshard_reshard(current("upstream_test_tables/unshard__2stage__compute")),
            current("upstream_test_tables/unshard__2stage__expected"));
  EXPECT_EQ(add_reduce_grad(current("upstream_test_tables/unshard__2stage__compute")),
            current("upstream_test_tables/reduce_grad__2stage__expected"));
  EXPECT_EQ(merge_backwards(current("upstream_test_tables/merge_bw__input")),
            current("upstream_test_tables/merge_bw__expected"));
  // zb1p: I and W are joined, then sends and receives added.
  const std::string folder = "torch_csv/upstream_artifacts/zb1p_2rank_2stagep_";
  const std::string compute = data_file(folder + "compute.csv");
  EXPECT_EQ(write_torch(add_send_recv(merge_backwards(read_torch(compute, "zb1p")))),
            data_file(folder + "comms.csv"));
  EXPECT_EQ(convert_merged(compute, "zb1p", {}, Format::TorchComms),
            data_file(folder + "comms.csv"));
  EXPECT_EQ(convert_merged(compute, "a/zb1p.csv", {}, Format::Text),
            "# schedule: zb1p\n" +
                write_schedule(read_schedule(data_file(folder + "comms.csv"), "x"), Format::Text));
}

TEST(TorchPasses, OfJsonKeepItsName) {
  Schedule schedule = parse("0: 0F0 0I0 0W0 0F1 0I1 0W1");
  schedule.name = "mine";
  const Schedule merged = read_schedule(
      convert_merged(write_schedule(schedule, Format::Json), "x.json", {}, Format::Json), "x.json");
  EXPECT_EQ(merged.name, "mine");
  EXPECT_EQ(merged.order, parse("0: 0F0 0B0 0F1 0B1").order);
}

// Three stages are held at most, so a fourth one's turn drops one; blanks are no steps.
TEST(AddUnshardReshard, HoldsTheNextStages) {
  const auto sharded = [](const std::string& row, std::int32_t most) {
    return write_torch(add_unshard_reshard(read_torch(row, "t"), most));
  };
  EXPECT_EQ(sharded("0F0,,1F0,2F0,3F0,3B0", 3),
            "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,1RESHARD,2F0,2RESHARD,3F0,3B0,"
            "3RESHARD\n");
  EXPECT_EQ(sharded("0F0,1F0,1B0,0B0", 1),
            "0UNSHARD,0F0,0RESHARD,1UNSHARD,1F0,1B0,1RESHARD,0UNSHARD,0B0,0RESHARD\n");
  // Both stages of a pair are held, though two are one too many; they leave by number.
  EXPECT_EQ(sharded("0F0,(9F0;0B0)OVERLAP_F_B,(9B0;4F0)OVERLAP_F_B", 1),
            "0UNSHARD,0F0,9UNSHARD,(9F0;0B0)OVERLAP_F_B,0RESHARD,4UNSHARD,"
            "(9B0;4F0)OVERLAP_F_B,4RESHARD,9RESHARD\n");
}

TEST(TorchPasses, RefuseATableThatHasMoreThanComputes) {
  const TorchTable table{{{"0F0", "0SEND_F0"}, {"0UNSHARD", "1F0", "1UNSHARD"}}};
  const std::string problems =
      "actor 0, position 1: 0SEND_F0 is no compute\n"
      "  hint: this pass takes a table of computes\n"
      "actor 1, position 0: 0UNSHARD is no compute\n"
      "  hint: this pass takes a table of computes";
  EXPECT_EQ(message_of([&] { add_unshard_reshard(table); }), problems);
  EXPECT_EQ(message_of([&] { merge_backwards(table); }), problems);
}

// A long row costs no more than its length: this would take minutes if each cell looked ahead.
TEST(AddUnshardReshard, IsLinear) {
  TorchTable table{{{}}};
  for (int m = 0; m < 200'000; ++m) table.rows[0].push_back("0F" + std::to_string(m));
  table.rows[0].push_back("1F0");
  EXPECT_EQ(add_unshard_reshard(table).rows[0].size(), 200'001u + 4);
}

// In a row of torch-fsdp every op finds its stage gathered, nothing is gathered twice, at most four
// stages are held, and every stage with a weight gradient is reduced once.
RC_GTEST_PROP(TorchFsdp, HoldsWhatItComputes, ()) {
  Schedule schedule = arbitrary_derivable_schedule(kTorchKinds);
  make_torch(schedule);
  const TorchTable table = add_reduce_grad(add_unshard_reshard(
      read_torch(write_schedule(schedule, Format::TorchCompute), "x", TorchGrammar::Current)));
  for (const std::vector<std::string>& row : table.rows) {
    std::set<std::string> held;
    std::set<std::string> reduced;
    for (const std::string& cell : row) {
      const std::string stage = cell.substr(0, cell.find_first_not_of("0123456789"));
      if (cell.ends_with("UNSHARD")) {
        RC_ASSERT(held.insert(stage).second);
      } else if (cell.ends_with("RESHARD")) {
        RC_ASSERT(held.erase(stage) == 1);
      } else if (cell.ends_with("REDUCE_GRAD")) {
        RC_ASSERT(reduced.insert(stage).second);
      } else if (!cell.starts_with('(')) {
        RC_ASSERT(held.contains(stage));
      }
      RC_ASSERT(held.size() <= 4);
    }
    RC_ASSERT(held.empty());
  }
}

}  // namespace
}  // namespace penstock
