// Which step of a trace is imported, and what is said when files or clocks do not fit.
#include <gtest/gtest.h>

#include "formats_testing.h"
#include "kineto_traces.h"
#include "penstock/formats.h"
#include "penstock/trace.h"

namespace penstock {
namespace {

// F0 B0 of one stage, `length` us each, from `start` on.
void add_step(std::vector<TraceEvent>& events, double start, double length) {
  events.push_back({"PP:0F0", start, length});
  events.push_back({"PP:0B0", start + length, length});
}

Nanoseconds first_op(const TraceFile& file, std::optional<std::int32_t> step = std::nullopt) {
  return imported({file}, {.step = step}).timeline.spans[0].end;
}

TEST(KinetoSteps, WithoutProfilerStepsAnOpThatComesAgainBeginsOne) {
  TraceFile file;
  for (int step = 0; step < 3; ++step) add_step(file.events, 100 * step, 1 + step);
  EXPECT_EQ(first_op(file), 3'000);
  EXPECT_EQ(first_op(file, 0), 1'000);
  EXPECT_EQ(first_op(file, 1), 2'000);
  file.events.push_back({"PP:0F0", 400, 9});  // the trace ends within a step
  EXPECT_EQ(first_op(file), 3'000);
  EXPECT_EQ(message_of([&] { first_op(file, 3); }),
            "r0.json: no step 3 is complete\n  hint: complete: 0, 1, 2");
}

TEST(KinetoSteps, AreNumberedAsTheProfilerDoes) {
  TraceFile file{.events = {{"PP:0B0", 0, 1}}};  // the rest of a step before the first mark
  file.events.push_back({"ProfilerStep#4", 90, 50});
  add_step(file.events, 100, 1);
  file.events.push_back({"ProfilerStep#5", 190, 50});
  add_step(file.events, 200, 2);
  file.events.push_back({"ProfilerStep#6", 290, 50});
  file.events.push_back({"PP:0F0", 300, 3});
  EXPECT_EQ(first_op(file), 2'000);
  EXPECT_EQ(first_op(file, 4), 1'000);
  EXPECT_EQ(message_of([&] { first_op(file, 6); }),
            "r0.json: no step 6 is complete\n  hint: complete: 4, 5");
}

TEST(KinetoSteps, TheLastThatEveryRankHas) {
  TraceFile first;
  TraceFile second;
  for (int step = 0; step < 3; ++step) {
    const double start = 100 * step;
    first.events.push_back({"PP:0F0", start, 1});
    first.events.push_back({"PP:0B0", start + 20, 1});
    second.events.push_back({"PP:1F0", start + 5, 1});
    if (step < 2) second.events.push_back({"PP:1B0", start + 6, 1});
  }
  const Timeline timeline = imported({first, second}).timeline;
  EXPECT_EQ(timeline, imported({first, second}, {.step = 1}).timeline);
  EXPECT_EQ(message_of([&] {
              imported({first, second}, {.step = 2});
            }),
            "r0.json: no step 2 is complete\n  hint: complete: 0, 1");
  // Step 0 is cut short on the one rank, step 1 on the other.
  first.events = {{"PP:0F0", 0, 1}, {"PP:0F0", 100, 1}, {"PP:0B0", 110, 1}};
  second.events = {{"PP:1F0", 5, 1}, {"PP:1B0", 6, 1}, {"PP:1F0", 105, 1}};
  EXPECT_EQ(message_of([&] {
              imported({first, second});
            }),
            "r0.json: no step is complete in it and in r1.json\n"
            "  hint: profile one step at least from its begin to its end, the same on every rank: "
            "torch.profiler.schedule(...) and prof.step() after each");
}

// Two stages on each of two ranks; `missing` is left out.
std::vector<TraceFile> v_run(int missing) {
  std::vector<TraceFile> files = {
      {.events = {{"PP:0F0", 0, 1},
                  {"PP:0SEND_F0", 1, 1},
                  {"PP:3F0", 30, 1},
                  {"PP:3B0", 31, 1},
                  {"PP:3SEND_B0", 32, 1},
                  {"PP:0RECV_B0", 33, 1},
                  {"PP:0B0", 60, 1}},
       .rank = 0},
      {.events = {{"PP:1F0", 10, 1},
                  {"PP:2F0", 11, 1},
                  {"PP:2SEND_F0", 12, 1},
                  {"PP:2B0", 40, 1},
                  {"PP:1B0", 41, 1},
                  {"PP:1SEND_B0", 42, 1}},
       .rank = 1},
  };
  if (missing >= 0) files.erase(files.begin() + missing);
  return files;
}

TEST(KinetoRanks, AMissingOneIsNamed) {
  EXPECT_EQ(write_schedule(imported(v_run(-1)).schedule, Format::Text),
            "0: 0F0 3F0 3B0 0B0\n1: 1F0 2F0 2B0 1B0\n");
  EXPECT_EQ(message_of([] { imported(v_run(1)); }),
            "r0.json: no actor runs stage 1 and 1 others\n"
            "  hint: give a file for every rank of the pipeline");
  EXPECT_EQ(message_of([] { imported(v_run(0)); }),
            "r0.json: no actor runs stage 0\n"
            "  hint: give a file for every rank of the pipeline");
  // The last stage's rank: only a message tells that it is there.
  EXPECT_EQ(message_of([] {
              imported({{.events = {{"PP:0F0", 0, 1}, {"PP:0SEND_F0", 1, 1}, {"PP:0B0", 5, 1}}}});
            }),
            "r0.json: it names stage 1, which no file ran\n"
            "  hint: give a file for every rank of the pipeline");
}

TEST(KinetoRanks, TwoReplicasAreNotOneRun) {
  std::vector<TraceFile> files = v_run(-1);
  files.push_back(files[1]);
  files.back().rank = 5;
  EXPECT_EQ(message_of([&] { imported(files); }),
            "r2.json: 1F0 ran in r1.json too\n"
            "  hint: give the files of one data-parallel replica, each once");
}

TEST(KinetoRanks, AnOrderThatIsNoScheduleIsRefused) {
  EXPECT_NE(message_of([] {
              imported({{.events = {{"PP:0B0", 0, 1}, {"PP:0F0", 5, 1}}}});
            }).find("0B0"),
            std::string::npos);
}

// Rank 1's clock is 20 us early: its first op would start before its input is there.
TEST(KinetoClocks, AreSaidToDifferAndAligned) {
  std::vector<TraceFile> files = v_run(-1);
  for (TraceEvent& event : files[1].events) event.start += 100 - 20;
  for (TraceEvent& event : files[0].events) event.start += 100;
  const ImportedStep as_is = imported(files);
  ASSERT_EQ(as_is.notes.size(), 1u);
  EXPECT_EQ(to_string(as_is.notes[0]),
            "r1.json: 2B0 starts 12.000 us before 3B0 ends in r0.json (2 such)\n"
            "  hint: the ranks' clocks differ: synchronise them, or shift them with --align");
  EXPECT_EQ(read_trace(write_trace(as_is.timeline), "x"), as_is.timeline);
  const ImportedStep aligned = imported(files, {.align = true});
  ASSERT_EQ(aligned.notes.size(), 1u);
  EXPECT_EQ(to_string(aligned.notes[0]), "r1.json: its clock is shifted by 12.000 us");
  for (const Span& span : aligned.timeline.spans) {
    if (span.awaits < 0) continue;
    EXPECT_LE(aligned.timeline.transfers[static_cast<std::size_t>(span.awaits)].end, span.start);
  }
  EXPECT_EQ(aligned.timeline.spans[0].start, 0);
}

// Each side starts before the other's result is there: no two clocks can explain that.
TEST(KinetoClocks, ARingIsNoMatterOfClocks) {
  const std::vector<TraceFile> files = {
      {.events = {{"PP:0F0", 0, 10}, {"PP:0B0", 10, 10}}},
      {.events = {{"PP:1F0", 5, 10}, {"PP:1B0", 15, 10}}},
  };
  for (const bool align : {false, true}) {
    const ImportedStep step = imported(files, {.align = align});
    ASSERT_EQ(step.notes.size(), 2u);
    EXPECT_EQ(step.notes[0].hint,
              "no shift of the clocks explains it: marks on the host do not wait for the device");
    EXPECT_EQ(step.timeline.spans[2].start, 5'000);
  }
}

TEST(KinetoClocks, DaysApartAreNotOneStep) {
  std::vector<TraceFile> files = v_run(-1);
  files[1].base += 9'100'000'000'000'000;
  EXPECT_EQ(message_of([&] { imported(files); }),
            "r0.json: more than 104 days between the first op and the last\n"
            "  hint: the files are of different runs, or a clock is wrong");
}

std::string refusal(const TraceFile& file) {
  return message_of([&] { read_kineto(trace_json(file), "r.json"); });
}

TEST(KinetoRead, SaysEverythingThatIsWrong) {
  EXPECT_EQ(
      refusal({.events = {{"PP:0X0", 0, 1}, {"PP:0F0", 1, 5}, {"PP:0B0", 4, 1}, {"PP:", 6, 1}}}),
      "r.json: 'PP:0X0' is no action of a pipeline\n"
      "  hint: an action is PP:3F5, PP:3SEND_F5, PP:3UNSHARD or their like\n"
      "r.json: PP:0B0 starts 2.000 us before PP:0F0 ends\n"
      "  hint: the marks of a rank follow each other\n"
      "r.json: 'PP:' is no action of a pipeline\n"
      "  hint: an action is PP:3F5, PP:3SEND_F5, PP:3UNSHARD or their like");
  // A microsecond is rounding.
  EXPECT_EQ(refusal({.events = {{"PP:0F0", 1, 5}, {"PP:0B0", 5, 1}}}), "");
  const auto bad = [](const std::string& fields) {
    return message_of([&] {
      read_kineto(
          "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
          "\"PP:0F0\", " +
              fields + "}]}",
          "r.json");
    });
  };
  EXPECT_EQ(bad("\"ts\": 1"), "r.json:/traceEvents/0: 'dur' is missing\n  hint: it holds a number");
  EXPECT_EQ(bad("\"ts\": \"1\", \"dur\": -1"),
            "r.json:/traceEvents/0/ts: expected a number, found \"1\"\n"
            "r.json:/traceEvents/0/dur: -1 is out of range\n"
            "  hint: allowed: 0 to 1000000000000000");
  EXPECT_EQ(bad("\"ts\": 1e300, \"dur\": 1"),
            "r.json:/traceEvents/0/ts: 1e+300 is out of range\n"
            "  hint: allowed: 0 to 3000000000000000");
}

TEST(KinetoRead, SaysWhatTheFileIsInstead) {
  const auto first_line = [](const std::string& json) {
    const std::string message = message_of([&] { read_kineto(json, "r.json"); });
    return message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(first_line("{"),
            "r.json:1:2: not valid JSON: syntax error while parsing object key - "
            "unexpected end of input; expected string literal");
  EXPECT_EQ(first_line(" "), "r.json: the file is empty");
  EXPECT_EQ(first_line("[]"), "r.json: no trace of torch's profiler: it has no \"traceEvents\"");
  EXPECT_EQ(first_line(write_trace(imported(v_run(-1)).timeline)),
            "r.json: a trace of Penstock already");
  EXPECT_EQ(first_line(trace_json({})), "r.json: it has no mark of an op, such as PP:0F0");
  EXPECT_EQ(first_line("{\"traceEvents\": 3}"), "r.json:/traceEvents: expected an array, found 3");
}

}  // namespace
}  // namespace penstock
