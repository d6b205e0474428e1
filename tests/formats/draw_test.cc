#include "penstock/draw.h"

#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "penstock/formats.h"
#include "penstock/generate.h"
#include "testing_files.h"
#include "timeline_testing.h"

namespace penstock {
namespace {

TEST(Draw, IsRightAtUnequalDurations) {
  const Program program = lower(generate("1f1b", {.actors = 3, .microbatches = 3}));
  const Timeline timeline = timeline_of(program, [](const Op& op) {
    return Nanoseconds{1000} * (op.kind == OpKind::Backward ? 2 : 1) * (2 + 3 * op.stage);
  });
  EXPECT_EQ(draw(timeline),
            R"(1f1b: 3 actors, 3 microbatches, 93.00 us predicted             1 column = 1.2 us
  |0               |20             |40              |60              |80
0 F0FF2                             B0==                B1==                B2==
1   F0--F1--                B0======F2--        B1======            B2======
2       F0-----B0===========F1-----B1===========F2-----B2===========
F forward  B backward  F5: microbatch 5
)");
}

TEST(Draw, NamesStagesSlicesPairsAndStepEnds) {
  Timeline timeline = timeline_of(
      lower(parse("0: 0F0.0 0F0.1 1F0 1F0.1 (0F1;1B0.1) 1B0 0B0.1 0B0 1F1 1B1 0B1")), unit_cost);
  timeline.name = "sliced";
  Span update;
  update.kind = ActionKind::Update;
  update.start = timeline.spans.back().end;
  update.end = update.start + 1'000'000;
  timeline.spans.push_back(update);
  timeline.source = TimelineSource::Measured;
  EXPECT_EQ(draw(timeline, {.columns = 100}),

            "sliced: 1 actor, 2 microbatches, 19.00 ms measured                                 "
            "1 column = 0.2 ms\n"
            "  |0        |2        |4        |6        |8        |10       |12       |14       "
            "|16       |18\n"
            "0 F0---F0.1-f0---f0.1-F1;b0.1########b0========B0.1======B0========f1---b1========"
            "B1========U****\n"
            "F forward  B backward  & overlapped pair  U step end (Reduce, Norm, Update)  F5: "
            "microbatch 5\n"
            "small: a later stage of the actor\n");
}

Timeline both_ways() {
  return timeline_of(lower(generate("dualpipe", {.actors = 2, .microbatches = 4})), unit_cost);
}

// Ops on another route are filled with a mark, a pair's are told apart by their microbatches.
TEST(Draw, MarksAnotherRoute) {
  EXPECT_EQ(
      draw(both_ways(), {.columns = 100}),
      R"(dualpipe: 2 actors, 4 microbatches, 12.00 ms predicted                          1 column = 0.3333 ms
  |0             |5             |10
0 F0-F2<F1-B2<<<<F3;B0####B3<<<<I1~W1+
1 F2<F0-F3<B0====F1;B2####B1====I3<W3<
F forward  B backward  I input gradient  W weight gradient  & overlapped pair  F5: microbatch 5
F5<: on another route
)");
}

TEST(Draw, UnderlinesAnotherRouteInColour) {
  const std::string text = draw(both_ways(), {.columns = 60, .color = true});
  const std::string blue = "38;5;16;48;5;74m";
  EXPECT_NE(text.find("\x1b[" + blue + "F0 "), std::string::npos) << text;
  EXPECT_NE(text.find("\x1b[4;" + blue + "F2 "), std::string::npos) << text;
  EXPECT_NE(text.find("F1;\x1b[0m\x1b[4;38;5;231;48;5;25mB2\x1b[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("underlined: on another route"), std::string::npos);
}

// A second route's first stage on an actor is no later stage of the first's.
TEST(Draw, CountsAnActorsStagesByRoute) {
  const Timeline timeline =
      timeline_of(lower(generate("bitpipe", {.actors = 2, .microbatches = 2})), unit_cost);
  EXPECT_NE(draw(timeline, {.columns = 40})
                .find("0 F0-F1<f1<f0-b0====b1<<<<B1<<<<B0====\n"
                      "1 F1<F0-f0-f1<b1<<<<b0====B0====B1<<<<\n"),
            std::string::npos);
}

TEST(Draw, ColourIsTheSameChartInColour) {
  const Timeline timeline =
      timeline_of(lower(generate("1f1b", {.actors = 2, .microbatches = 2})), unit_cost);
  const std::string blue = "\x1b[38;5;16;48;5;74m";
  const std::string orange = "\x1b[38;5;16;48;5;214m";
  const std::string end = "\x1b[0m";
  EXPECT_EQ(draw(timeline, {.columns = 50, .color = true}),
            "1f1b: 2 actors, 2 microbatches, 9.000 ms predicted\n"
            "1 column = 0.5 ms\n"
            "  |0        |5\n"
            "0 " +
                blue + "F0F1" + end + "    " + orange + "B0  " + end + "  " + orange + "B1  " +
                end + "\n1   " + blue + "F0" + end + orange + "B0  " + end + blue + "F1" + end +
                orange + "B1  " + end + "\n" + blue + "F" + end + " forward  " + orange + "B" +
                end + " backward  F5: microbatch 5\n");
}

TEST(Draw, NothingIsDrawnAsNothing) {
  EXPECT_EQ(draw(Timeline{}, {.columns = 60}),
            "0 actors, 0 microbatches, 0 ns predicted     1 column = 1 ns\n\n");
  Timeline idle;
  idle.actors = 2;
  EXPECT_NE(draw(idle).find("\n0\n1\n"), std::string::npos);
  EXPECT_NE(draw_svg(idle).find("</svg>"), std::string::npos);
}

// A timeline of any ops at any times, also of no length and out of order.
Timeline arbitrary_timeline() {
  Timeline timeline;
  timeline.actors = *rc::gen::inRange(1, 5);
  timeline.name = *rc::gen::element<std::string>("", "a", "<&\">\n", std::string(200, 'n'));
  timeline.microbatches = 3;
  for (std::int32_t stage = 0; stage < 2 * timeline.actors; ++stage) {
    timeline.stages.push_back(
        {.actor = stage % timeline.actors, .part = stage, .route = *rc::gen::inRange(0, 3)});
  }
  for (std::int32_t actor = 0; actor < timeline.actors; ++actor) {
    Nanoseconds now = *rc::gen::inRange(0, 1000);
    const auto spans = *rc::gen::inRange(0, 12);
    for (int i = 0; i < spans; ++i) {
      Span span;
      span.actor = actor;
      span.kind = *rc::gen::element(ActionKind::Compute, ActionKind::Compute, ActionKind::Update,
                                    ActionKind::GlobalNorm);
      const std::int32_t stage = actor + timeline.actors * *rc::gen::inRange(0, 2);
      span.op = {static_cast<OpKind>(*rc::gen::inRange(0, 4)), stage, *rc::gen::inRange(0, 200),
                 *rc::gen::inRange(0, 3)};
      span.overlaps_previous = i > 0 && *rc::gen::inRange(0, 4) == 0;
      span.start = now;
      span.end = now += *rc::gen::element<Nanoseconds>(0, 1, 3, 1000, 777'777, 3'000'000'000'000);
      now += *rc::gen::element<Nanoseconds>(0, 0, 5, 100'000);
      timeline.spans.push_back(span);
    }
  }
  return timeline;
}

RC_GTEST_PROP(Draw, NoLineIsLongerThanAsked, ()) {
  const Timeline timeline = arbitrary_timeline();
  const auto columns = *rc::gen::inRange(1, 200);
  const std::regex ansi("\x1b\\[[0-9;]*m");
  const std::string plain = draw(timeline, {.columns = columns});
  const std::string coloured = draw(timeline, {.columns = columns, .color = true});
  RC_ASSERT(plain.ends_with('\n'));
  for (const std::string& text : {plain, std::regex_replace(coloured, ansi, "")}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      RC_ASSERT(line.size() <= static_cast<std::size_t>(std::max(columns, 3)));
    }
  }
}

TEST(DrawSvg, HoldsEveryOpWithItsTimes) {
  const Timeline timeline =
      timeline_of(lower(generate("1f1b", {.actors = 2, .microbatches = 2})), unit_cost);
  const std::string svg = draw_svg(timeline);
  EXPECT_NE(svg.find("<title>1B1: backward of stage 1, microbatch 1\n"
                     "2.000 ms from 5.000 ms to 7.000 ms</title>"),
            std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  const std::regex op("<rect class=\"op look[0-9] ?[a-z]*\" x=\"[0-9.]+\" y=\"[0-9.]+\" width");
  const auto begin = std::sregex_iterator(svg.begin(), svg.end(), op);
  EXPECT_EQ(std::distance(begin, std::sregex_iterator()), 8 + 2);  // ops and two of the legend
  EXPECT_EQ(svg.find("<script"), std::string::npos);
}

TEST(DrawSvg, UnderlinesAnotherRoute) {
  const std::string svg = draw_svg(both_ways());
  EXPECT_NE(svg.find("<title>2F2: forward of stage 2, microbatch 2, on another route\n"),
            std::string::npos);
  EXPECT_NE(svg.find(">0F0</text>"), std::string::npos);
  EXPECT_NE(svg.find("><tspan class=\"way\">2F2</tspan></text>"), std::string::npos);
  EXPECT_NE(svg.find(">1F1;<tspan class=\"way\">2B2</tspan></text>"), std::string::npos);
  EXPECT_NE(svg.find("underlined: on another route"), std::string::npos);
}

RC_GTEST_PROP(DrawSvg, IsWellFormed, ()) {
  const std::string svg = draw_svg(arbitrary_timeline());
  RC_ASSERT(svg.find("<&") == std::string::npos);
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z]+)[^>]*?(/?)>");
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), tag); it != std::sregex_iterator();
       ++it) {
    if ((*it)[3].length() > 0) continue;
    if ((*it)[1].length() == 0) {
      open.push_back((*it)[2]);
    } else {
      RC_ASSERT(!open.empty());
      RC_ASSERT(open.back() == (*it)[2].str());
      open.pop_back();
    }
  }
  RC_ASSERT(open.empty());
}

}  // namespace
}  // namespace penstock
