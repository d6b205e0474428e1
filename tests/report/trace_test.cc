#include "penstock/trace.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "penstock/error.h"
#include "penstock/report.h"
#include "sample.h"

namespace penstock {
namespace {

using nlohmann::json;
using test::one_f_one_b;
using ::testing::HasSubstr;

std::vector<json> events(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

std::vector<Problem> problems_of(const std::string& text) {
  try {
    read_trace(text, "t.json");
  } catch (const Error& error) {
    return error.problems();
  }
  return {};
}

// The one problem of a good trace after `change`.
Problem problem_after(const std::function<void(json&)>& change) {
  json trace = json::parse(write_trace(one_f_one_b()));
  change(trace["penstock"]);
  const std::vector<Problem> problems = problems_of(trace.dump());
  EXPECT_EQ(problems.size(), 1u);
  return problems.empty() ? Problem{} : problems[0];
}

TEST(Trace, ComesBackAsItWas) {
  const Timeline timeline = one_f_one_b();
  EXPECT_EQ(read_trace(write_trace(timeline), "t.json"), timeline);
}

TEST(Trace, SameTimelineSameBytes) {
  EXPECT_EQ(write_trace(one_f_one_b()), write_trace(one_f_one_b()));
}

Timeline any_timeline() {
  using rc::gen::inRange;
  test::Sample sample;
  sample.name = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
  sample.actors = *inRange(1, 6);
  sample.microbatches = *inRange(1, 9);
  sample.forward = *inRange<Nanoseconds>(0, 5'000'000'000);
  sample.backward = *inRange<Nanoseconds>(0, 5'000);
  sample.latency = *inRange<Nanoseconds>(0, 5'000'000);
  sample.activation_bytes = *inRange<std::int64_t>(0, std::int64_t{1} << 40);
  Timeline timeline = one_f_one_b(sample);
  timeline.source = static_cast<TimelineSource>(*inRange(0, 3));
  timeline.tokens = *inRange<std::int64_t>(0, 1'000'000);
  timeline.stages.back().route = *inRange(0, sample.actors);
  timeline.stages.back().left_bytes = *inRange<std::int64_t>(0, sample.activation_bytes + 1);
  if (*rc::gen::arbitrary<bool>()) {
    timeline.slices.assign(static_cast<std::size_t>(sample.microbatches), *inRange(1, 4));
  }
  return timeline;
}

RC_GTEST_PROP(Trace, AnyTimelineComesBackAsItWas, ()) {
  const Timeline timeline = any_timeline();
  RC_ASSERT(read_trace(write_trace(timeline), "t.json") == timeline);
}

// Reads and reports: an Error with a place in the file, or everything that a report makes of it.
void read_and_report(const std::string& text) {
  try {
    const Timeline timeline = read_trace(text, "t.json");
    report_json(timeline, measure(timeline));
    report_table(timeline, measure(timeline));
    report_html({.title = "t", .timelines = {timeline}, .losses = {}, .facts = {}});
    compare_table(timeline, one_f_one_b());
    write_trace(timeline);
  } catch (const Error& error) {
    for (const Problem& problem : error.problems()) {
      RC_ASSERT(problem.where.rfind("t.json", 0) == 0u);
      RC_ASSERT(!problem.what.empty());
    }
  }
}

RC_GTEST_PROP(Trace, DamagedTextIsRefusedOrReported, ()) {
  std::string text = write_trace(one_f_one_b({.actors = 2, .microbatches = 2}));
  const std::size_t changes = *rc::gen::inRange<std::size_t>(1, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = *rc::gen::inRange<char>(' ', '~');
  }
  read_and_report(text);
}

// Valid JSON with other numbers, ops and rows than were written.
RC_GTEST_PROP(Trace, WrongValuesAreRefusedOrReported, ()) {
  using rc::gen::inRange;
  json trace = json::parse(write_trace(one_f_one_b({.actors = 2, .microbatches = 2})));
  json& content = trace["penstock"];
  const std::size_t changes = *inRange<std::size_t>(1, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    json& rows = content[*rc::gen::element<std::string>("spans", "transfers")];
    json& row = rows[*inRange<std::size_t>(0, rows.size())];
    switch (*inRange(0, 4)) {
      case 0:
        row[*inRange<std::size_t>(1, row.size())] = *inRange(0, 12'000'000);
        break;
      case 1:
        row[*inRange<std::size_t>(1, row.size())] = *inRange(0, 4);
        break;
      case 2:
        row[0] = to_string(Op{static_cast<OpKind>(*inRange(0, 4)), *inRange(0, 2), *inRange(0, 2)});
        break;
      default:
        rows.erase(*inRange<std::size_t>(0, rows.size()));
    }
  }
  read_and_report(trace.dump());
}

// What Perfetto's importer wants of a file (its documentation of the Chrome JSON format).
TEST(TraceEvents, NameEveryActorInOrder) {
  const json trace = json::parse(write_trace(one_f_one_b()));
  std::map<int, std::string> names;
  std::map<int, int> order;
  for (const json& event : events(trace, "M")) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["name"] == "thread_sort_index") order[event["tid"]] = event["args"]["sort_index"];
  }
  EXPECT_THAT(names, ::testing::ElementsAre(std::pair{1, "actor 0"}, std::pair{2, "actor 1"},
                                            std::pair{3, "actor 2"}, std::pair{4, "actor 3"}));
  EXPECT_EQ(order[1], 0);
  EXPECT_EQ(order[4], 3);
}

TEST(TraceEvents, OneSlicePerSpanInMicroseconds) {
  const Timeline timeline = one_f_one_b({.forward = 1'234'567});
  const std::vector<json> slices = events(json::parse(write_trace(timeline)), "X");
  ASSERT_EQ(slices.size(), timeline.spans.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Span& span = timeline.spans[i];
    EXPECT_NEAR(slices[i]["ts"].get<double>(), static_cast<double>(span.start) / 1000, 1e-6);
    EXPECT_NEAR(slices[i]["dur"].get<double>(), static_cast<double>(span.end - span.start) / 1000,
                1e-6);
    EXPECT_EQ(slices[i]["tid"], span.actor + 1);
  }
}

// A flow binds to the slice around it: it starts inside its producer and ends inside its consumer.
TEST(TraceEvents, FlowsJoinProducerAndConsumer) {
  const Timeline timeline = one_f_one_b();
  const json trace = json::parse(write_trace(timeline));
  const std::vector<json> starts = events(trace, "s");
  const std::vector<json> ends = events(trace, "f");
  ASSERT_EQ(starts.size(), timeline.transfers.size());
  ASSERT_EQ(ends.size(), timeline.transfers.size());
  const std::vector<json> slices = events(trace, "X");
  const auto slice_at = [&slices](const json& event) -> std::string {
    for (const json& slice : slices) {
      const double offset = event["ts"].get<double>() - slice["ts"].get<double>();
      if (slice["tid"] == event["tid"] && offset >= 0 && offset < slice["dur"].get<double>()) {
        return slice["name"];
      }
    }
    return "none";
  };
  std::set<int> ids;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Transfer& transfer = timeline.transfers[starts[i]["id"].get<std::size_t>()];
    EXPECT_EQ(slice_at(starts[i]), to_string(transfer.op));
    EXPECT_EQ(starts[i]["id"], ends[i]["id"]);
    EXPECT_EQ(ends[i]["tid"], transfer.to + 1);
    EXPECT_NE(slice_at(ends[i]), "none");
    EXPECT_EQ(ends[i]["bp"], "e");
    ids.insert(starts[i]["id"].get<int>());
  }
  EXPECT_EQ(ids.size(), starts.size());
}

TEST(TraceEvents, CountMemoryAndMicrobatches) {
  const json trace = json::parse(write_trace(one_f_one_b()));
  double most = 0;
  double bytes = 0;
  for (const json& event : events(trace, "C")) {
    if (event["name"] == "actor 0 in flight") {
      most = std::max(most, event["args"]["microbatches"].get<double>());
    }
    if (event["name"] == "actor 0 memory") {
      bytes = std::max(bytes, event["args"]["bytes"].get<double>());
    }
  }
  EXPECT_EQ(most, 4);  // min(m, p - r) of 1F1B at r = 0
  EXPECT_EQ(bytes, (10 << 20) + 4 * (1 << 20));
}

TEST(ReadTrace, AnotherProgramsTrace) {
  const auto problems = problems_of(R"({"traceEvents":[{"ph":"X","name":"MatMul"}]})");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].what, HasSubstr("trace of another program"));
  EXPECT_THAT(problems[0].hint, HasSubstr("convert --from kineto"));
  EXPECT_THAT(problems_of("[]").at(0).what, HasSubstr("another program"));
  EXPECT_THAT(problems_of("{}").at(0).what, HasSubstr("no trace"));
  EXPECT_THAT(problems_of("3").at(0).what, HasSubstr("no trace"));
  EXPECT_THAT(problems_of(R"({"penstock":1,"name":"x"})").at(0).where, "t.json:/penstock");
}

TEST(ReadTrace, EveryTruncationIsRefused) {
  const std::string text = write_trace(one_f_one_b({.actors = 2, .microbatches = 2}));
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_EQ(problems_of(text.substr(0, size)).size(), 1u) << size;
  }
}

TEST(ReadTrace, ReportsEveryWrongType) {
  json trace = json::parse(write_trace(one_f_one_b()));
  trace["penstock"]["actors"] = "four";
  trace["penstock"]["source"] = "guessed";
  trace["penstock"]["spans"][3][2] = 1.5;
  trace["penstock"]["spans"][4] = json::array({"0F0", 1});
  trace["penstock"]["spans"][5][0] = "0X1";
  trace["penstock"]["transfers"][0][1] = "rumour";
  std::set<std::string> places;
  for (const Problem& problem : problems_of(trace.dump())) places.insert(problem.where);
  EXPECT_THAT(places, ::testing::ElementsAre(
                          "t.json:/penstock/actors", "t.json:/penstock/source",
                          "t.json:/penstock/spans/3/2", "t.json:/penstock/spans/4",
                          "t.json:/penstock/spans/5/0", "t.json:/penstock/transfers/0/1"));
}

// Traces of before there was left_bytes: a W needed everything.
TEST(ReadTrace, WhatAnInputGradientLeavesIsAllByDefault) {
  const Timeline timeline = one_f_one_b({.activation_bytes = 10});
  json trace = json::parse(write_trace(timeline));
  for (json& stage : trace["penstock"]["stages"]) stage.erase("left_bytes");
  EXPECT_EQ(read_trace(trace.dump(), "t.json"), timeline);
  const Problem problem = problem_after([](json& p) {
    p["stages"][1]["left_bytes"] = p["stages"][1]["activation_bytes"].get<std::int64_t>() + 1;
  });
  EXPECT_EQ(problem.where, "t.json:/penstock/stages/1/left_bytes");
}

TEST(ReadTrace, IndicesOutOfRange) {
  const Problem actor = problem_after([](json& p) { p["transfers"][2][3] = 9; });
  EXPECT_EQ(actor.where, "t.json:/penstock/transfers/2");
  EXPECT_EQ(actor.what, "actor 9 does not exist");
  EXPECT_EQ(actor.hint, "there are 4, from 0");
  EXPECT_EQ(problem_after([](json& p) { p["spans"][0][0] = "0F99"; }).what,
            "microbatch 99 does not exist");
  EXPECT_EQ(problem_after([](json& p) { p["spans"][0][0] = "0F0.1"; }).what,
            "slice 1 does not exist");
  EXPECT_EQ(problem_after([](json& p) { p["spans"][20][4] = 100000; }).what,
            "transfer 100000 does not exist");
}

TEST(ReadTrace, OpOnAnotherActor) {
  EXPECT_EQ(problem_after([](json& p) { p["spans"][0][0] = "1F0"; }).what,
            "stage 1 sits on actor 1, not 0");
}

TEST(ReadTrace, TimesThatDoNotAddUp) {
  EXPECT_THAT(problem_after([](json& p) { p["spans"][16][2] = 9'000'000'000; }).what,
              HasSubstr("before it starts"));
  EXPECT_THAT(problem_after([](json& p) { p["transfers"][1][6] = 0; }).what,
              HasSubstr("out of order"));
  EXPECT_THAT(problem_after([](json& p) { p["spans"][1][2] = 999'999; }).what,
              HasSubstr("before the span in front of it ends"));
}

TEST(ReadTrace, AnOpThatRanTwice) {
  EXPECT_THAT(problem_after([](json& p) { p["spans"][1][0] = p["spans"][0][0]; }).what,
              HasSubstr("0F0 ran before, at /penstock/spans/0"));
}

TEST(ReadTrace, APairMayOverlap) {
  Timeline timeline = one_f_one_b({.actors = 1, .microbatches = 2});
  timeline.spans[1].overlaps_previous = true;
  timeline.spans[1].start = timeline.spans[0].start;
  EXPECT_EQ(read_trace(write_trace(timeline), "t.json"), timeline);
}

TEST(ReadTrace, APairIsTwoSpansOfOneActor) {
  const Timeline timeline = one_f_one_b();
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    if (i > 0 && timeline.spans[i].actor == timeline.spans[i - 1].actor) continue;
    EXPECT_THAT(problem_after([&](json& p) { p["spans"][i][5] = true; }).what,
                HasSubstr("overlaps a span that is not there"));
  }
  Timeline three = one_f_one_b({.actors = 1, .microbatches = 2});
  for (const std::size_t i : {1, 2}) {
    three.spans[i].overlaps_previous = true;
    three.spans[i].start = three.spans[0].start;
  }
  const auto problems = problems_of(write_trace(three));
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].where, "t.json:/penstock/spans/2");
}

TEST(ReadTrace, RoutesOfAnyNumberCostNothing) {
  Timeline timeline = one_f_one_b({.actors = 2000, .microbatches = 1});
  for (TimelineStage& stage : timeline.stages) stage.route = 1999;
  EXPECT_EQ(memory(read_trace(write_trace(timeline), "t.json")).size(), 2000u);
}

TEST(WriteTrace, RefusesWhatNoTraceHolds) {
  Timeline timeline = one_f_one_b({.actors = 1, .microbatches = 1});
  timeline.spans.back().end = kLongestTrace;
  timeline.microbatches = kMostTraceMicrobatches;
  EXPECT_EQ(read_trace(write_trace(timeline), "t.json"), timeline);
  ++timeline.spans.back().end;
  ++timeline.microbatches;
  try {
    write_trace(timeline);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.problems().size(), 2u);
  }
}

// A counter that is not set keeps its value to the end of the page.
TEST(TraceEvents, CountersOfMemoryReturnToWhatIsLeft) {
  Timeline timeline = one_f_one_b({.actors = 2, .microbatches = 2, .activation_bytes = 10});
  for (TimelineStage& stage : timeline.stages) stage.weight_bytes = 0;
  const json trace = json::parse(write_trace(timeline));
  std::map<std::string, json> last;
  for (const json& event : events(trace, "C")) last[event["name"]] = event["args"];
  EXPECT_EQ(last["actor 0 memory"]["bytes"], 0);
  EXPECT_EQ(last["actor 1 memory"]["bytes"], 0);
  EXPECT_EQ(last["actor 0 in flight"]["microbatches"], 0.0);
}

TEST(ReadTrace, StopsAfterAHundredProblems) {
  json trace = json::parse(write_trace(one_f_one_b({.actors = 4, .microbatches = 64})));
  for (json& span : trace["penstock"]["spans"]) span[1] = "nobody";
  const auto problems = problems_of(trace.dump());
  ASSERT_EQ(problems.size(), 100u);
  EXPECT_THAT(problems.back().what, HasSubstr("there may be more"));
}

TEST(ReadTrace, HugeNumbersAreRefused) {
  EXPECT_THAT(problem_after([](json& p) { p["spans"][0][3] = 1e300; }).what,
              HasSubstr("out of range"));
  EXPECT_THAT(problem_after([](json& p) { p["actors"] = 2'000'000'000; }).what,
              HasSubstr("out of range"));
}

}  // namespace
}  // namespace penstock
