#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "kineto_traces.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/metrics.h"
#include "penstock/trace.h"
#include "timeline_testing.h"

namespace penstock {
namespace {

// Two ranks, two microbatches, 1F1B; times in us.
std::vector<TraceFile> two_ranks() {
  return {{.events = {{"PP:0F0", 100, 10},
                      {"PP:0SEND_F0", 110, 1},
                      {"PP:0F1", 111, 10},
                      {"PP:0SEND_F1", 121, 1},
                      {"PP:0RECV_B0", 122, 1},
                      {"PP:0B0", 145, 20},
                      {"PP:0RECV_B1", 165, 1},
                      {"PP:0B1", 180, 20}},
           .rank = 0},
          {.events = {{"PP:1RECV_F0", 100, 1},
                      {"PP:1F0", 112, 10},
                      {"PP:1B0", 122, 20},
                      {"PP:1SEND_B0", 142, 1},
                      {"PP:1F1", 143, 10},
                      {"PP:1B1", 153, 20.5}},
           .rank = 1}};
}

std::string notes_of(const ImportedStep& step) {
  std::string text;
  for (const Problem& note : step.notes) text += to_string(note) + "\n";
  return text;
}

TEST(Kineto, MarksBecomeATimelineAndAnOrder) {
  std::vector<TraceFile> files = two_ranks();
  std::reverse(files.begin(), files.end());  // the files say their ranks
  const ImportedStep step = imported(files);
  EXPECT_EQ(step.schedule, parse("0: 0F0 0F1 0B0 0B1\n1: 1F0 1B0 1F1 1B1"));
  EXPECT_EQ(notes_of(step), "");
  const Timeline& timeline = step.timeline;
  EXPECT_EQ(timeline.source, TimelineSource::Imported);
  ASSERT_EQ(timeline.spans.size(), 8u);
  EXPECT_EQ(timeline.spans[0], (Span{.op = *parse_op("0F0"), .start = 0, .end = 10'000}));
  EXPECT_EQ(timeline.spans[7],
            (Span{.op = *parse_op("1B1"), .actor = 1, .start = 53'000, .end = 73'500}));
  ASSERT_EQ(timeline.transfers.size(), 4u);
  EXPECT_EQ(timeline.transfers[0], (Transfer{.op = *parse_op("1B0"),
                                             .kind = OpKind::Backward,
                                             .from = 1,
                                             .to = 0,
                                             .ready = 42'000,
                                             .start = 42'000,
                                             .end = 45'000}));
  EXPECT_EQ(timeline.spans[2].awaits, 0);
  EXPECT_EQ(measure(timeline).makespan, 100'000);
  // The pipe waited 3 us for the gradient on its way.
  EXPECT_EQ(measure(timeline).actors[0].idle[static_cast<std::size_t>(IdleCause::P2p)],
            3'000 + 6'500);
}

// Each rank's clock counts from its own base.
TEST(Kineto, TimesCountFromTheFilesBase) {
  std::vector<TraceFile> files = two_ranks();
  files[1].base += 1'000'000;
  for (TraceEvent& event : files[1].events) event.start -= 1000 - 2000;
  files[0].base += 2'000'000;
  EXPECT_EQ(imported(files).timeline, imported(two_ranks()).timeline);
}

TEST(Kineto, WithoutRanksFilesAreActorsAsGiven) {
  std::vector<TraceFile> files = two_ranks();
  files[0].rank = files[1].rank = -1;
  EXPECT_EQ(imported(files).timeline, imported(two_ranks()).timeline);
  std::reverse(files.begin(), files.end());
  EXPECT_EQ(imported(files).schedule.pipeline.stages[0].actor, 1);
}

TEST(Kineto, WhatIsImportedIsATrace) {
  const Timeline timeline = imported(two_ranks()).timeline;
  EXPECT_EQ(read_trace(write_trace(timeline), "x"), timeline);
}

TEST(Kineto, PairsAndReductions) {
  const ImportedStep step = imported({{.events = {{"PP:0UNSHARD", 0, 1},
                                                  {"PP:0F0", 1, 1},
                                                  {"PP:(0F1;0B0)OVERLAP_F_B", 2, 5},
                                                  {"PP:0I1", 7, 1},
                                                  {"PP:0W1", 8, 1},
                                                  {"PP:0REDUCE_GRAD", 9, 4},
                                                  {"PP:0RESHARD", 13, 1}}}});
  EXPECT_EQ(step.schedule, parse("0: 0F0 (0F1;0B0) 0I1 0W1"));
  const std::vector<Span>& spans = step.timeline.spans;
  ASSERT_EQ(spans.size(), 6u);
  EXPECT_TRUE(spans[2].overlaps_previous);
  EXPECT_EQ(spans[1].start, spans[2].start);
  EXPECT_EQ(spans[5].kind, ActionKind::ReduceGradients);
  EXPECT_EQ(spans[5].end - spans[5].start, 4'000);
}

// Until 2024 B was the input gradient and BW the whole backward.
TEST(Kineto, OldWordsAreRecognised) {
  const auto order = [](const std::string& a, const std::string& b, const std::string& c) {
    std::vector<TraceEvent> events = {{"PP:0F0", 0, 1}, {"PP:" + a, 1, 1}, {"PP:" + b, 2, 1}};
    if (!c.empty()) events.push_back({"PP:" + c, 3, 1});
    return write_schedule(imported({{.events = events}}).schedule, Format::Text);
  };
  EXPECT_EQ(order("0B0", "0W0", ""), "0: 0F0 0I0 0W0\n");
  EXPECT_EQ(order("0F1", "0BW0", "0BW1"), "0: 0F0 0F1 0B0 0B1\n");
  EXPECT_EQ(order("0F1", "0B0", "0B1"), "0: 0F0 0F1 0B0 0B1\n");
}

// Times of the device where it has a mark of every op, else of the host, and then it is said.
TEST(Kineto, TheDevicesTimesComeFirst) {
  TraceFile file{.events = {{"PP:0F0", 0, 1}, {"PP:0B0", 1, 1}}, .devices = "{\"id\": 0}"};
  const auto device = [](const std::string& name, double start, double length, int stream) {
    return TraceEvent{name, start, length, "gpu_user_annotation", stream};
  };
  EXPECT_EQ(notes_of(imported({file})),
            "r0.json: times of the host: the device has no mark of every op\n"
            "  hint: the device may have run an op later, and waited for others\n");
  file.events.push_back(device("PP:0F0", 50, 10, 7));
  EXPECT_EQ(imported({file}).timeline.spans[0].end, 1'000);
  EXPECT_NE(notes_of(imported({file})), "");
  file.events.push_back(device("PP:0F0", 49, 2, 20));  // another stream, a moment
  file.events.push_back(device("PP:0B0", 70, 30, 7));
  const ImportedStep step = imported({file});
  EXPECT_EQ(notes_of(step), "");
  ASSERT_EQ(step.timeline.spans.size(), 2u);
  EXPECT_EQ(step.timeline.spans[0].end, 10'000);
  EXPECT_EQ(step.timeline.spans[1].start, 20'000);
}

// Any schedule of the catalogue that a torch run could have: what ran comes back, to the ns.
RC_GTEST_PROP(Kineto, ARunComesBack, ()) {
  const std::string name =
      *rc::gen::element(std::string("gpipe"), std::string("1f1b"), std::string("interleaved_1f1b"),
                        std::string("zb_v"), std::string("dualpipev"), std::string("looped_bfs"));
  const auto actors = *rc::gen::inRange(2, 5);
  const bool single = name == "gpipe" || name == "1f1b";
  const Schedule schedule =
      generate(name, {.actors = actors, .chunks = single ? 1 : 2, .microbatches = 2 * actors});
  std::vector<Nanoseconds> durations;
  for (int i = 0; i < 7; ++i) durations.push_back(*rc::gen::inRange(1, 3'000'000));
  const Timeline timeline = timeline_of(lower(schedule), [&](const Op& op) {
    return durations[static_cast<std::size_t>(op.stage * 3 + op.microbatch) % durations.size()];
  });
  const ImportedStep step = imported(traces_of(timeline));
  RC_ASSERT(step.schedule.order == schedule.order);
  RC_ASSERT(step.schedule.pipeline == schedule.pipeline);
  RC_ASSERT(step.notes.empty());
  const Metrics before = measure(timeline);
  const Metrics after = measure(step.timeline);
  RC_ASSERT(after.makespan == before.makespan);
  for (std::size_t actor = 0; actor < before.actors.size(); ++actor) {
    RC_ASSERT(after.actors[actor].busy == before.actors[actor].busy);
    RC_ASSERT(after.actors[actor].peak_in_flight == before.actors[actor].peak_in_flight);
  }
}

RC_GTEST_PROP(Kineto, MutationsAreReadOrRefused, ()) {
  const std::string json = mutated(trace_json(two_ranks()[0]));
  try {
    const KinetoRank rank = read_kineto(json, "x");
    const ImportedStep step =
        import_step({rank, read_kineto(trace_json(two_ranks()[1]), "y")}, {.align = true});
    RC_ASSERT(read_trace(write_trace(step.timeline), "x") == step.timeline);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace penstock
