#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "penstock/check.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/metrics.h"
#include "penstock/scheduled_nodes.h"
#include "penstock/trace.h"
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

std::string timed(const std::string& type, int rank, int microbatch, double start, double end,
                  int slice = 0) {
  return fmt::format(
      R"({{"type": "{}", "stage": {}, "microbatch": {}, "seq_split_idx": {}, "start_time": {}, )"
      R"("completion_time": {}}})",
      type, rank, microbatch, slice, start, end);
}

// Two ranks, 1F1B; a hop takes half a millisecond.
TEST(SailSgTimes, BecomeATimeline) {
  const std::string json = "[[" + timed("F", 0, 0, 0, 1) + "," + timed("SEND_FORWARD", 0, 0, 1, 1) +
                           "," + timed("F", 0, 1, 1, 2) + "," + timed("B", 0, 0, 5, 6.25) + "," +
                           timed("W", 0, 0, 6.25, 7) + "," + timed("BW", 0, 1, 9, 11) + "],[" +
                           timed("F", 1, 0, 1.5, 2.5) + "," + timed("BW", 1, 0, 2.5, 4.5) + "," +
                           timed("F", 1, 1, 4.5, 5.5) + "," + timed("BW", 1, 1, 5.5, 7.5) + "]]";
  const ImportedStep step = import_nodes(json, "n.json");
  EXPECT_EQ(step.schedule, parse("0: 0F0 0F1 0I0 0W0 0B1\n1: 1F0 1B0 1F1 1B1"));
  EXPECT_TRUE(step.notes.empty());
  const Timeline& timeline = step.timeline;
  EXPECT_EQ(timeline.source, TimelineSource::Imported);
  ASSERT_EQ(timeline.spans.size(), 9U);
  EXPECT_EQ(timeline.spans[2],
            (Span{.op = *parse_op("0I0"), .awaits = 0, .start = 5'000'000, .end = 6'250'000}));
  ASSERT_EQ(timeline.transfers.size(), 4U);
  EXPECT_EQ(timeline.transfers[0], (Transfer{.op = *parse_op("1B0"),
                                             .kind = OpKind::Backward,
                                             .from = 1,
                                             .to = 0,
                                             .ready = 4'500'000,
                                             .start = 4'500'000,
                                             .end = 5'000'000}));
  const Metrics metrics = measure(timeline);
  EXPECT_EQ(metrics.makespan, from_ms(11));
  EXPECT_EQ(metrics.actors[1].busy, from_ms(6));
  EXPECT_EQ(read_trace(write_trace(timeline), "again"), timeline);
}

// A slice takes its own input.
TEST(SailSgTimes, OfTokenSlices) {
  const std::string json = "[[" + timed("F", 0, 0, 0, 1, 0) + "," + timed("F", 0, 0, 1, 2, 1) +
                           "," + timed("BW", 0, 0, 5, 6, 1) + "," + timed("BW", 0, 0, 6, 7, 0) +
                           "],[" + timed("F", 1, 0, 1, 2, 0) + "," + timed("F", 1, 0, 2, 3, 1) +
                           "," + timed("BW", 1, 0, 3, 4, 1) + "," + timed("BW", 1, 0, 4, 5, 0) +
                           "]]";
  const Timeline timeline = import_nodes(json, "n.json").timeline;
  EXPECT_EQ(timeline.slices, std::vector<std::int32_t>{2});
  ASSERT_EQ(timeline.transfers.size(), 4U);
  for (const Span& span : timeline.spans) {
    if (span.awaits < 0) continue;
    const Transfer& input = timeline.transfers[static_cast<std::size_t>(span.awaits)];
    EXPECT_EQ(input.op.slice, span.op.slice);
  }
  EXPECT_EQ(read_trace(write_trace(timeline), "again"), timeline);
}

TEST(SailSgTimes, EveryProblemAtOnce) {
  const auto message = [](const std::string& json) {
    return message_of([&] { import_nodes(json, "n.json"); });
  };
  EXPECT_EQ(message("[[" + timed("F", 0, 0, 0, 2) + "," + timed("F", 0, 1, 1, 3) + "," +
                    timed("BW", 0, 0, 5, 4) + "," + timed("BW", 0, 1, -1, 7) +
                    R"(,{"type": "F", "microbatch": 2}, {"type": "BW", "microbatch": 2,
                         "start_time": 1, "completion_time": null}]])"),
            "n.json:/0/1: it starts 1000 us before the one in front of it ends\n"
            "  hint: a rank's list is in order of time\n"
            "n.json:/0/2: it ends before it starts\n"
            "  hint: times are start_time and completion_time\n"
            "n.json:/0/3/start_time: -1 is out of range\n"
            "  hint: allowed: 0 to 1000000000\n"
            "n.json:/0/3: it starts 5000 us before the one in front of it ends\n"
            "  hint: a rank's list is in order of time\n"
            "n.json:/0/4: nodes without start_time or completion_time (2): they have no place in "
            "time\n"
            "  hint: write the nodes behind the pass that adds times");
  // What is no schedule is no timeline.
  EXPECT_EQ(message("[[" + timed("BW", 0, 0, 0, 1) + "," + timed("F", 0, 0, 1, 2) + "]]").find("n"),
            0U);
  std::string many = "[[";
  for (int i = 0; i < 300; ++i) many += (i > 0 ? "," : "") + timed("F", 0, i, 2, 1);
  try {
    import_nodes(many + "]]", "n.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.problems().size(), 100U);
  }
}

// Rounded times may touch; what starts before its input is there is said.
TEST(SailSgTimes, OverlapAndEarlyUse) {
  const std::string json =
      "[[" + timed("F", 0, 0, 0, 1.0000001) + "," + timed("BW", 0, 0, 1, 2) + "]]";
  EXPECT_EQ(import_nodes(json, "n.json").timeline.spans[1].start, 1'000'000);
  const std::string early = "[[" + timed("F", 0, 0, 0, 1) + "," + timed("BW", 0, 0, 3, 4) + "],[" +
                            timed("F", 1, 0, 0.5, 1.5) + "," + timed("BW", 1, 0, 1.5, 3) + "]]";
  const ImportedStep step = import_nodes(early, "n.json");
  ASSERT_EQ(step.notes.size(), 1U);
  EXPECT_EQ(step.notes[0].what, "1F0 starts 500.000 us before 0F0 ends");
}

RC_GTEST_PROP(SailSgTimes, MutationsAreReadOrRefused, ()) {
  const std::string json =
      mutated("[[" + timed("F", 0, 0, 0, 1) + "," + timed("BW", 0, 0, 3, 4) + "],[" +
              timed("F", 1, 0, 1, 1.5) + "," + timed("BW", 1, 0, 1.5, 3) + "]]");
  try {
    const Timeline timeline = import_nodes(json, "x").timeline;
    RC_ASSERT(read_trace(write_trace(timeline), "x") == timeline);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
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
