#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "penstock/formats.h"
#include "penstock/program.h"
#include "testing_files.h"
#include "torch_tables.h"

namespace penstock {
namespace {

std::string torch_message(std::string_view csv, TorchGrammar grammar = TorchGrammar::Detect) {
  return message_of([&] { read_torch(csv, "t.csv", grammar); });
}

TEST(TorchTable, EveryTableComesOutByteForByte) {
  const std::vector<std::string> derived = tables("derived", ".csv");
  EXPECT_EQ(derived.size(), 82u);
  for (const std::string& name : derived) {
    const std::string csv = data_file(name + ".csv");
    EXPECT_EQ(write_torch(read_torch(csv, name)), csv) << name;
    const Format format = detect_format(csv, name);
    EXPECT_EQ(format, name.ends_with(".comms")          ? Format::TorchComms
                      : name.ends_with(".lowered_fsdp") ? Format::TorchFsdp
                                                        : Format::TorchCompute);
    EXPECT_EQ(convert_schedule(csv, name, {}, format), csv) << name;
  }
  for (const std::string folder : {"upstream_artifacts", "upstream_test_tables"}) {
    for (const std::string& name : tables(folder, ".csv")) {
      if (name.ends_with(".OLDGRAMMAR")) continue;
      const std::string csv = data_file(name + ".csv");
      EXPECT_EQ(write_torch(read_torch(csv, name, TorchGrammar::Current)), csv) << name;
    }
  }
}

TEST(AddSendRecv, GivesTorchsTables) {
  const std::vector<std::string> comms = tables("derived", ".comms.csv");
  EXPECT_EQ(comms.size(), 27u);
  for (const std::string& name : comms) {
    const std::string compute = data_file(name + ".compute.csv");
    EXPECT_EQ(add_send_recv(read_torch(compute, name)),
              read_torch(data_file(name + ".comms.csv"), name))
        << name;
    EXPECT_EQ(convert_schedule(compute, name, {}, Format::TorchComms),
              data_file(name + ".comms.csv"));
  }
}

TEST(AddSendRecv, GivesTheTablesOfTorchsOwnTests) {
  for (const std::string test : {"simple_2_rank_2_stage", "v_2_rank_4_stage"}) {
    const std::string name = "torch_csv/upstream_test_tables/send_recv__" + test;
    const TorchTable compute =
        read_torch(data_file(name + "__compute.csv"), test, TorchGrammar::Current);
    EXPECT_EQ(write_torch(add_send_recv(compute)), data_file(name + "__comms.csv"));
  }
}

// What torch's runtime executes, with the sends and receives taken out and put back.
TEST(AddSendRecv, KeepsThePlacesOfShardingCells) {
  const std::vector<std::string> lowered = tables("derived", ".lowered_fsdp.csv");
  EXPECT_EQ(lowered.size(), 27u);
  for (const std::string& name : lowered) {
    const TorchTable expected = read_torch(data_file(name + ".lowered_fsdp.csv"), name);
    TorchTable stripped;
    for (const std::vector<std::string>& row : expected.rows) {
      std::vector<std::string>& kept = stripped.rows.emplace_back();
      std::copy_if(row.begin(), row.end(), std::back_inserter(kept), [](const std::string& cell) {
        return cell.find("SEND") == std::string::npos && cell.find("RECV") == std::string::npos;
      });
    }
    EXPECT_EQ(add_send_recv(stripped), expected) << name;
  }
}

TEST(AddSendRecv, SaysWhoWaitsForWhat) {
  EXPECT_EQ(message_of([] {
              add_send_recv({{{"0F0", "0B0", "0F1"}, {"1F1", "1F0", "1B0"}}});
            }),
            "actor 0, position 1: 0B0 waits for 1B0\n"
            "actor 1, position 0: 1F1 waits for 0F1");
  EXPECT_EQ(message_of([] {
              add_send_recv({{{"0F0", "0SEND_F0"}, {"1F0"}}});
            }),
            "actor 0, position 1: the table has 0SEND_F0 and its like already\n"
            "  hint: sends and receives are added to a table of computes");
}

TEST(TorchGrammar, OldTablesBecomeTodaysTables) {
  const std::string folder = "torch_csv/upstream_artifacts/zb1p_2rank_2stagep_";
  // The comms table has BW and is recognised; the compute table has B and W only.
  EXPECT_EQ(write_torch(read_torch(data_file(folder + "comms.OLDGRAMMAR.csv"), "old")),
            data_file(folder + "comms.csv"));
  const std::string compute = data_file(folder + "compute.OLDGRAMMAR.csv");
  EXPECT_EQ(write_torch(read_torch(compute, "old", TorchGrammar::Old)),
            data_file(folder + "compute.csv"));
  EXPECT_EQ(read_schedule(compute, "x", Format::TorchOld),
            read_schedule(data_file(folder + "compute.csv"), "x"));
  EXPECT_EQ(convert_schedule(compute, "x", Format::TorchOld, Format::TorchCompute),
            data_file(folder + "compute.csv"));
}

TEST(TorchGrammar, IsNeverGuessed) {
  EXPECT_EQ(torch_message("0F0,0B0,0W0"),
            "t.csv: B may be the full backward or, in tables of 2024 and before, the input "
            "gradient alone\n"
            "  hint: say which: read the file as torch-compute or torch-comms (B is the full "
            "backward) or as torch-old (B is the input gradient)");
  EXPECT_EQ(torch_message("0F0,0BW0,0I1"),
            "t.csv: BW belongs to torch's old grammar and I to the current one\n"
            "  hint: old: B input gradient, BW full backward; current: I input gradient, B full "
            "backward");
  EXPECT_EQ(torch_message("0F0,0BW0", TorchGrammar::Current),
            "t.csv: BW is a word of torch's old grammar\n"
            "  hint: read the file as torch-old");
  EXPECT_EQ(torch_message("0F0,0I0,0W0", TorchGrammar::Old),
            "t.csv: I is a word of torch's current grammar\n"
            "  hint: read the file as torch-compute");
  EXPECT_EQ(write_torch(read_torch("0F0,0B0,0W0", "t", TorchGrammar::Current)), "0F0,0B0,0W0\n");
  EXPECT_EQ(write_torch(read_torch("0F0,0B0,(0F1;1BW2)OVERLAP_F_B,0W0", "t", TorchGrammar::Old)),
            "0F0,0I0,(0F1;1B2)OVERLAP_F_B,0W0\n");
}

TEST(TorchTable, TakesSpacesAndLineEndsOfAnyKind) {
  const TorchTable expected{{{"0F0", "", "0B0"}, {}, {"", "1F0"}}};
  EXPECT_EQ(read_torch(" 0F0 ,\t,0B0\r\n\r\n,1F0\r\n\r\n", "t"), expected);
  EXPECT_EQ(write_torch(expected), "0F0,,0B0\n\n,1F0\n");
}

TEST(TorchTable, SaysWhichCellsAreWrong) {
  const std::string hint =
      "\n  hint: cells are 3F5, 3I5, 3W5, 3B5, (0F7;7B3)OVERLAP_F_B, 0SEND_F3, 1RECV_F3, "
      "1SEND_B3, 0RECV_B3, 2UNSHARD, 2RESHARD, 2REDUCE_GRAD; numbers end at 999999";
  std::string expected;
  const std::pair<const char*, const char*> faults[] = {
      {"1:5", "0X1"},        {"1:9", "F1"},         {"1:12", "-1F0"},
      {"1:17", "0F"},        {"2:1", "0F0xyz"},     {"2:8", "1000000F0"},
      {"2:18", "0UNSHARD3"}, {"2:28", "(0F0;0B1)"}, {"2:38", "(0F0;0SEND_F1)OVERLAP_F_B"},
      {"2:64", "0SEND_F"},
  };
  for (const auto& [place, cell] : faults) {
    if (!expected.empty()) expected += "\n";
    expected += std::string("t.csv:") + place + ": '" + cell + "' is not a cell of a torch table";
    expected += hint;
  }
  EXPECT_EQ(torch_message("0F0,0X1,F1,-1F0,0F\n"
                          "0F0xyz,1000000F0,0UNSHARD3,(0F0;0B1),(0F0;0SEND_F1)OVERLAP_F_B,0SEND_F"),
            expected);
  EXPECT_EQ(torch_message("\n \n"), "t.csv: the table has no cell");
}

TEST(TorchSchedule, DropsBlanksAndCommunication) {
  const Schedule schedule = read_schedule(
      "0UNSHARD,0F0,0SEND_F0,3RECV_F0,,3F0,(0F1;3B0)OVERLAP_F_B,0REDUCE_GRAD\n,1F0,2F0\n", "mine");
  EXPECT_EQ(schedule, parse("0: 0F0 3F0 (0F1;3B0)\n1: 1F0 2F0\n"));
  const std::string name = "torch_csv/derived/dualpipev_p4_m8";
  const Schedule compute = read_schedule(data_file(name + ".compute.csv"), "x");
  EXPECT_EQ(read_schedule(data_file(name + ".comms.csv"), "x"), compute);
  EXPECT_EQ(read_schedule(data_file(name + ".lowered_fsdp.csv"), "x"), compute);
}

TEST(TorchSchedule, CommsBecomeComputeWithoutBlanks) {
  for (const std::string& name : tables("derived", ".comms.csv")) {
    const std::string comms = data_file(name + ".comms.csv");
    const std::string compute = convert_schedule(comms, name, {}, Format::TorchCompute);
    EXPECT_EQ(compute, write_schedule(read_schedule(comms, name), Format::TorchCompute));
    EXPECT_EQ(read_schedule(compute, name), read_schedule(data_file(name + ".compute.csv"), name));
  }
}

// From a Schedule the cells per actor are the same; only their order may differ where the table had
// blanks.
TEST(TorchSchedule, CommsFromAScheduleHaveTheSameCells) {
  int equal = 0;
  for (const std::string& name : tables("derived", ".comms.csv")) {
    const std::string csv = data_file(name + ".comms.csv");
    TorchTable expected = read_torch(csv, name);
    TorchTable written =
        read_torch(write_schedule(read_schedule(csv, name), Format::TorchComms), name);
    if (written == expected) ++equal;
    for (TorchTable* table : {&expected, &written}) {
      for (std::vector<std::string>& row : table->rows) std::sort(row.begin(), row.end());
    }
    EXPECT_EQ(written, expected) << name;
  }
  EXPECT_EQ(equal, 3);
}

// An actor's actions as torch writes them.
std::vector<std::string> cells_of(const Program& program, const std::vector<Action>& actions) {
  std::vector<std::string> cells;
  for (const Action& action : actions) {
    const auto index = static_cast<std::size_t>(action.index);
    if (action.kind == ActionKind::Compute) {
      const Compute& compute = program.computes[index];
      const std::string op = to_string(compute.op);
      if (compute.overlaps_previous) {
        cells.back() = "(" + cells.back() + ";" + op + ")OVERLAP_F_B";
      } else {
        cells.push_back(op);
      }
      continue;
    }
    const Message& message = program.messages[index];
    const bool sends = action.kind == ActionKind::Send;
    const auto end = static_cast<std::size_t>(sends ? message.producer : message.consumer);
    const Op& op = program.computes[end].op;
    cells.push_back(std::to_string(op.stage) + (sends ? "SEND_" : "RECV_") + letter(message.kind) +
                    std::to_string(op.microbatch));
  }
  return cells;
}

TorchTable table_of(const Program& program) {
  TorchTable table;
  for (const std::vector<Action>& actions : program.actions) {
    table.rows.push_back(cells_of(program, actions));
  }
  return table;
}

// Two ways to the same sends and receives: torch's rule on the table, and lower() on the schedule.
TEST(TorchSchedule, CommsAreThoseOfTheLoweredProgram) {
  for (const std::string& name : tables("derived", ".comms.csv")) {
    const Schedule schedule = read_schedule(data_file(name + ".compute.csv"), name);
    const Program program = lower(schedule, {.step_end = false});
    EXPECT_EQ(write_torch(table_of(program)), write_schedule(schedule, Format::TorchComms)) << name;
  }
}

// torch's own cases of _defer_recv_ops.
TEST(TorchSchedule, DeferredReceivesAreTorchs) {
  for (const char* test : {"simple_2_rank_2_stage", "v_2_rank_4_stage"}) {
    const std::string folder = "torch_csv/upstream_test_tables/";
    const std::string table = folder + "send_recv__" + test + "__compute";
    const Schedule schedule = read_schedule(data_file(table + ".csv"), table, Format::TorchCompute);
    const Program program =
        lower(schedule, {.placement = MessagePlacement::Deferred, .step_end = false});
    EXPECT_EQ(write_torch(table_of(program)),
              data_file(folder + "defer_recv__" + test + "__expected.csv"));
  }
}

TEST(TorchSchedule, RefusesWhatATableCannotHold) {
  const auto refusal = [](Schedule schedule) {
    return message_of([&] { write_schedule(schedule, Format::TorchCompute); });
  };
  const std::string head = "schedule '': torch-compute cannot hold it: ";
  const std::string tail = "\n  hint: write it as json";
  EXPECT_EQ(refusal(parse("0: 0F0 0F1.0 0F1.1")), head + "microbatch 1 has 2 slices" + tail);
  EXPECT_EQ(refusal(parse("0: 0F0\n1:")), head + "actor 1 has no op" + tail);
  Schedule schedule = parse("0: 0F0\n1: 1F0");
  schedule.pipeline.routes = {{0}, {1}};
  EXPECT_EQ(refusal(schedule),
            head + "it has 2 routes, where a stage feeds the one numbered after it" + tail);
  schedule = parse("0: 0F0");
  schedule.pipeline.learning.kind = LearningKind::ForwardOnly;
  EXPECT_EQ(refusal(schedule), head + "it is inference, without backwards" + tail);
  EXPECT_EQ(message_of([] { write_schedule(parse("0: 0F0"), Format::TorchOld); }),
            "schedule '': torch-old is read, not written\n"
            "  hint: write torch-compute, torch-comms or torch-fsdp");
}

RC_GTEST_PROP(TorchSchedule, RoundTrip, ()) {
  Schedule schedule = arbitrary_derivable_schedule(kTorchKinds);
  make_torch(schedule);
  const std::string csv = write_schedule(schedule, Format::TorchCompute);
  RC_ASSERT(read_schedule(csv, "x", Format::TorchCompute) == schedule);
  const TorchTable table = read_torch(csv, "x", TorchGrammar::Current);
  RC_ASSERT(write_torch(table) == csv);
}

RC_GTEST_PROP(TorchTable, MutationsAreReadOrRefused, ()) {
  const std::string csv =
      mutated("0F0,0F1,,3F0,3B0,3F1,3B1,0B0\n,1F0,2F0,1F1,2F1,(1F2;2B0)OVERLAP_F_B,1B0\n");
  try {
    const TorchTable table = read_torch(csv, "x", TorchGrammar::Current);
    RC_ASSERT(read_torch(write_torch(table), "x", TorchGrammar::Current) == table);
    add_send_recv(table);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

TEST(ReadSchedule, DetectsTorchTables) {
  EXPECT_EQ(detect_format(",,\n,1F0", "x"), Format::TorchCompute);
  EXPECT_EQ(detect_format("0F0,0SEND_F0", "x"), Format::TorchComms);
  EXPECT_EQ(detect_format("zzz,0BW0", "x"), Format::TorchCompute);
  EXPECT_EQ(message_of([] { detect_format("hello, world", "x.txt"); }),
            "x.txt: not a schedule in any format that Penstock reads\n"
            "  hint: JSON begins with {, text with \"0: 0F0 ..\", a torch table with cells like "
            "0F0,0F1");
}

TEST(ReadSchedule, FormatsHaveNames) {
  for (const Format format : {Format::Json, Format::Text, Format::SailSg, Format::TorchCompute,
                              Format::TorchComms, Format::TorchFsdp, Format::TorchOld}) {
    EXPECT_EQ(parse_format(name(format)), format);
  }
  EXPECT_EQ(parse_format("yaml"), std::nullopt);
}

}  // namespace
}  // namespace penstock
