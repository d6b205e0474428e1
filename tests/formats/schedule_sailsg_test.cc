#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "penstock/check.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "testing_files.h"

namespace penstock {
namespace {

// A node with every field of ScheduledNode (zero-bubble-pipeline-parallelism @39f2c186,
// scheduler/graph.py), enums by their value.
std::string node(const std::string& type, int rank, int microbatch, int chunk, int group,
                 const std::string& more = "\"rollback\": false") {
  return "{\"type\": \"" + type + "\", \"stage\": " + std::to_string(rank) +
         ", \"microbatch\": " + std::to_string(microbatch) +
         ", \"chunk\": " + std::to_string(chunk) +
         ", \"seq_split_idx\": 0, \"layer_group_idx\": " + std::to_string(group) +
         ", \"start_time\": 0.5, \"completion_time\": 1.75, \"recv_peer_stage\": null, "
         "\"send_peer_stage\": 1, \"comm_direction\": 0, \"comm_peer_stage\": null, "
         "\"comm_pair_id\": 3, " +
         more + "}";
}

std::string sailsg_message(const std::string& json) {
  return message_of([&] { read_schedule(json, "n.json", Format::SailSg); });
}

// One microbatch down a V of two ranks. B is the input gradient, BW the whole.
TEST(SailSg, NodesBecomeOps) {
  const std::string json = "[[" + node("F", 0, 0, 0, 0) + ", " + node("SEND_FORWARD", 0, 0, 0, 0) +
                           ", " + node("RECV_FORWARD", 0, 0, 1, 3, "\"rollback\": true") + ", " +
                           node("F", 0, 0, 1, 3) + ", " + node("B", 0, 0, 1, 3) + ", " +
                           node("W", 0, 0, 1, 3) + ", " + node("BW", 0, 0, 0, 0) + "],\n[" +
                           node("F", 1, 0, 0, 1) + ", " + node("F", 1, 0, 1, 2) + ", " +
                           node("RECV_BACKWARD", 1, 0, 1, 2) + "," + node("B", 1, 0, 1, 2) + ", " +
                           node("BW", 1, 0, 0, 1) + ", " + node("SEND_BACKWARD", 1, 0, 0, 1) + "," +
                           node("W", 1, 0, 1, 2) + "]]";
  EXPECT_EQ(detect_format(json, "x"), Format::SailSg);
  const Schedule schedule = read_schedule(json, "x");
  EXPECT_EQ(schedule, parse("0: 0F0 3F0 3I0 3W0 0B0\n1: 1F0 2F0 2I0 1B0 2W0"));
  EXPECT_TRUE(check(schedule).empty());
}

// Nodes of 2023: minibatch, and no layer group where there is one chunk.
TEST(SailSg, OldNodes) {
  const std::string json =
      R"([[{"type": "F", "stage": 0, "minibatch": 0, "start_time": 0, "completion_time": 1},
           {"type": "BW", "stage": 0, "minibatch": 0, "chunk": 0}],
          [{"type": "F", "stage": 1, "minibatch": 0}, {"type": "BW", "stage": 1, "minibatch": 0}]])";
  EXPECT_EQ(read_schedule(json, "x"), parse("0: 0F0 0B0\n1: 1F0 1B0"));
  EXPECT_EQ(
      sailsg_message(R"([[{"type": "F", "microbatch": 0, "chunk": 1},
                                {"type": "F", "microbatch": 1, "chunk": 1}]])"),
      "n.json:/0/0: nodes of a second chunk without layer_group_idx (2): a chunk alone does not "
      "tell its stage\n"
      "  hint: give every node its layer_group_idx");
}

TEST(SailSg, RefusesWhatAScheduleCannotHold) {
  const std::string json = "[[" + node("F", 0, 0, 0, 0, "\"should_offload\": true") + "," +
                           node("POST_VALIDATION", 0, 0, 0, 0) + "," +
                           node("OFFLOAD_SEND_START", 0, 0, 0, 0) + "," +
                           node("OFFLOAD_SEND_START", 0, 1, 0, 0) + "," +
                           node("F", 0, 1, 0, 0, "\"need_recompute\": true") + "," +
                           node("IF", 0, 0, 0, 0) + "," + node("X", 0, 0, 0, 0) + "," +
                           node("F", 1, 0, 0, 0) + ", {\"type\": \"F\", \"microbach\": 2}, 7]]";
  EXPECT_EQ(
      sailsg_message(json),
      "n.json:/0/6/type: unknown type 'X'\n"
      "  hint: known: F, B, W, BW, R\n"
      "n.json:/0/7: a node of rank 1 in the list of rank 0\n"
      "  hint: the file holds a list per rank, in order\n"
      "n.json:/0/8/microbach: unknown key 'microbach'\n"
      "  hint: did you mean 'microbatch'?\n"
      "n.json:/0/8: 'microbatch' is missing\n"
      "  hint: it holds a whole number\n"
      "n.json:/0/9: expected an object, found 7\n"
      "n.json:/0/5: IF nodes (1): vocabulary parallelism has passes that run on all ranks\n"
      "n.json:/0/2: OFFLOAD_SEND_START nodes (2): a schedule does not move activations to the host "
      "and back\n"
      "  hint: write the nodes without the offloading pass\n"
      "n.json:/0/1: POST_VALIDATION nodes (1): a schedule ends with one update, without "
      "post-validation\n"
      "  hint: write the nodes without the post-validation pass\n"
      "n.json:/0/4: nodes with need_recompute (1): no R node says where it is recomputed\n"
      "  hint: write the nodes with the recomputation pass\n"
      "n.json:/0/0: nodes with should_offload (1): a schedule does not move activations to the "
      "host "
      "and back\n"
      "  hint: write the nodes without the offloading pass");
  EXPECT_EQ(sailsg_message("{}"), "n.json: expected an array, found {}");
  EXPECT_EQ(sailsg_message("[3, []]"), "n.json:/0: expected an array, found 3");
  EXPECT_EQ(sailsg_message("[[], []]"),
            "n.json: no actor has an op\n  hint: ops are written 0F0 0B0");
}

TEST(SailSg, RecomputationIsAnOp) {
  const std::string json = "[[" + node("F", 0, 0, 0, 0, "\"need_recompute\": true") + "," +
                           node("R", 0, 0, 0, 0) + "," + node("BW", 0, 0, 0, 0) + "]]";
  EXPECT_EQ(read_schedule(json, "x"), parse("0: 0F0 0R0 0B0"));
  const Schedule again = with_recompute(generate("zb_v", {.actors = 2, .microbatches = 4}));
  EXPECT_EQ(read_schedule(write_schedule(again, Format::SailSg), "zb_v").order, again.order);
}

TEST(SailSg, PairsAndRoutesAreNotWritten) {
  const auto refusal = [](const Schedule& schedule) {
    return message_of([&] { write_schedule(schedule, Format::SailSg); });
  };
  EXPECT_EQ(refusal(parse("0: 0F0 (0F1;0B0) 0B1")),
            "schedule '': sailsg cannot hold it: 0B0 overlaps the op before it\n"
            "  hint: write it as json");
  EXPECT_EQ(refusal(parse("0: 0F0 0B0 0U0")),
            "schedule '': sailsg cannot hold it: 0U0: its schedules end with one update\n"
            "  hint: write it as json");
  EXPECT_NE(refusal(generate("chimera", {.actors = 4, .microbatches = 4})).find("it has 2 routes"),
            std::string::npos);
}

// Orders of that repository's own code (tests/data/orders/README.md), there and back.
TEST(SailSg, ItsOrdersComeBack) {
  for (const std::string name : {"ZB-V_p4_m8", "V-Half_p4_m8", "V-Min_p4_m8", "1F1B-V_p4_m8"}) {
    const Schedule schedule = read_schedule(data_file("orders/other/" + name + ".csv"), name);
    const std::string json = write_schedule(schedule, Format::SailSg);
    EXPECT_EQ(read_schedule(json, name), schedule) << name;
    EXPECT_EQ(convert_schedule(json, name, {}, Format::SailSg), json) << name;
  }
  EXPECT_NE(write_schedule(parse("0: 0F0 2F0\n1: 1F0"), Format::SailSg)
                .find(R"({"type": "F", "stage": 0, "microbatch": 0, "chunk": 1, )"
                      R"("seq_split_idx": 0, "layer_group_idx": 2})"),
            std::string::npos);
}

RC_GTEST_PROP(SailSg, MutationsAreReadOrRefused, ()) {
  const std::string json = mutated(write_schedule(
      parse("0: 0F0.0 0F0.1 0B0.1 0B0.0\n1: 1F0.0 1F0.1 1B0.1 1B0.0"), Format::SailSg));
  try {
    const Schedule schedule = read_schedule(json, "x", Format::SailSg);
    RC_ASSERT(read_schedule(write_schedule(schedule, Format::SailSg), "x") == schedule);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace penstock
