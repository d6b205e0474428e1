#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "penstock/formats.h"

namespace penstock {
namespace {

std::string text_message(std::string_view content) {
  return message_of([&] { read_schedule(content, "mine.txt", Format::Text); });
}

TEST(ScheduleText, DerivesThePipelineFromTheOrder) {
  const Schedule schedule = parse(
      "# V placement, two slices of microbatch 1\r\n"
      "1: 1F0 2F0   # the turn\r\n"
      "\r\n"
      "0:\t0F0 (0F1.0;3B0) 0F1.1\r\n");
  EXPECT_EQ(schedule.name, "");
  EXPECT_EQ(schedule.pipeline.actors, 2);
  EXPECT_EQ(schedule.pipeline.stages, (std::vector<Stage>{{0, 0}, {1, 1}, {1, 2}, {0, 3}}));
  EXPECT_EQ(schedule.pipeline.routes, (std::vector<Route>{{0, 1, 2, 3}}));
  ASSERT_EQ(schedule.pipeline.microbatches.size(), 2u);
  EXPECT_EQ(schedule.pipeline.microbatches[0], Microbatch{});
  EXPECT_EQ(schedule.pipeline.microbatches[1].slice_tokens, (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(schedule.order[0], (std::vector<Step>{{{OpKind::Forward, 0, 0}, false},
                                                  {{OpKind::Forward, 0, 1, 0}, false},
                                                  {{OpKind::Backward, 3, 0}, true},
                                                  {{OpKind::Forward, 0, 1, 1}, false}}));
}

TEST(ScheduleText, AStrayOpDoesNotMoveItsStage) {
  const Schedule schedule = parse("0: 1F1 0F0\n1: 1F0 1B0\n");
  EXPECT_EQ(schedule.pipeline.stages, (std::vector<Stage>{{0, 0}, {1, 1}}));
}

// As many steps here as there: the stage sits where its forwards run.
TEST(ScheduleText, AStrayBackwardDoesNotMoveItsStage) {
  const Schedule schedule = parse("0: 0F0 1B0 0B0\n1: 1F0");
  EXPECT_EQ(schedule.pipeline.stages[1].actor, 1);
}

TEST(ScheduleText, AnActorMayBeIdle) {
  const Schedule schedule = parse("0: 0F0\n1:\n");
  EXPECT_EQ(schedule.pipeline.actors, 2);
  EXPECT_TRUE(schedule.order[1].empty());
}

TEST(ScheduleText, IsWrittenAsItIsRead) {
  Schedule schedule = parse("0: 0F0 (0F1;0B0)\n1: 1F0.2 1F0.1 1F0\n2:\n");
  schedule.name = "mine\n0: 9F9";
  EXPECT_EQ(write_schedule(schedule, Format::Text),
            "# schedule: \"mine\\n0: 9F9\"\n0: 0F0 (0F1;0B0)\n1: 1F0.2 1F0.1 1F0\n2:\n");
}

TEST(ScheduleText, AFirstLineAsWrittenNamesTheSchedule) {
  const auto name = [](const std::string& line) { return parse(line + "\n0: 0F0 0B0\n").name; };
  EXPECT_EQ(name("# schedule: mine, with # and spaces"), "mine, with # and spaces");
  EXPECT_EQ(name("\n\r\n# schedule: mine\r"), "mine");
  EXPECT_EQ(name("# schedule: \"a\\nb\""), "a\nb");
  for (const char* comment : {"# mine", "#schedule: mine", "# schedule:", "# schedule: ",
                              "# schedule:  mine", "# schedule: mine ", "# schedule: \"mine",
                              "# schedule: \"mine\"", "# note\n# schedule: x"}) {
    EXPECT_EQ(name(comment), "") << comment;
  }
  EXPECT_EQ(parse("0: 0F0 0B0\n# schedule: mine\n").name, "");
  EXPECT_EQ(read_named_schedule("# gpipe\n0: 0F0 0B0\n", "a/file.txt").name, "file");
}

RC_GTEST_PROP(ScheduleText, AnyNameComesBack, ()) {
  Schedule schedule = parse("0: 0F0 0B0");
  const auto characters = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", " ", "#", "\"", "\\", "\n", "\r", "\t", "\x7f", "é",
                                    "\u2028", "\U0001f600", "schedule: "));
  for (const std::string& character : characters) schedule.name += character;
  const std::string text = write_schedule(schedule, Format::Text);
  RC_ASSERT(read_schedule(text, "x.txt") == schedule);
  const std::string json = write_schedule(schedule, Format::Json);
  if (schedule.name.empty()) return;  // then the file's
  RC_ASSERT(convert_schedule(text, "x.txt", {}, Format::Json) == json);
  RC_ASSERT(convert_schedule(json, "x.json", {}, Format::Text) == text);
}

RC_GTEST_PROP(ScheduleText, RoundTrip, ()) {
  const Schedule schedule = arbitrary_derivable_schedule();
  RC_ASSERT(parse(write_schedule(schedule, Format::Text)) == schedule);
}

RC_GTEST_PROP(ScheduleText, MutationsAreReadOrRefused, ()) {
  const std::string text = mutated("# mine\n0: 0F0 (0F1;3B0) 0F1.1\n1: 1F0 2F0 1W0 2I0\n");
  try {
    const Schedule schedule = read_schedule(text, "x", Format::Text);
    RC_ASSERT(parse(write_schedule(schedule, Format::Text)).order == schedule.order);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

TEST(ScheduleText, SaysEverythingThatIsWrongWithPlaces) {
  EXPECT_EQ(text_message("0: 0F0 0X1 (0F1;1B0\n"
                         "0: 0B0\n"
                         "  actor 1: 1F0\n"
                         "-1: 1F0 -1F0 99999999999F0\n"),
            R"(mine.txt:1:8: '0X1' is not an op
  hint: 3F5 is the forward of stage 3, microbatch 5; (0F1;7B3) is an overlapped pair
mine.txt:1:12: '(0F1;1B0' is not an op
  hint: 3F5 is the forward of stage 3, microbatch 5; (0F1;7B3) is an overlapped pair
mine.txt:2:1: actor 0 has a line already
  hint: the first one is at mine.txt:1:1
mine.txt:3:3: expected an actor such as '0:', found 'actor'
  hint: a line is an actor and its ops: 0: 0F0 0F1 (0F2;1B0)
mine.txt:4:1: expected an actor such as '0:', found '-1:'
  hint: a line is an actor and its ops: 0: 0F0 0F1 (0F2;1B0))");
}

TEST(ScheduleText, RefusesGapsAndEmptiness) {
  EXPECT_EQ(text_message("# nothing\n"),
            "mine.txt: no actor has a line\n"
            "  hint: a line is an actor and its ops: 0: 0F0 0F1 (0F2;1B0)");
  EXPECT_EQ(text_message("0:\n1:"),
            "mine.txt: no actor has an op\n  hint: ops are written 0F0 0B0");
  EXPECT_EQ(text_message("0: 0F0\n2147483647: 1F0"),
            "mine.txt:2:1: actor 2147483647 has a line, actor 1 has none\n"
            "  hint: number the actors 0, 1, 2, ... without a gap");
  EXPECT_EQ(text_message("0: 0F0 3F0"),
            "mine.txt: no actor runs stage 1 and 1 others\n"
            "  hint: the highest stage is 3: every stage below it has to sit somewhere");
}

TEST(ScheduleText, HugeNumbersCostNothing) {
  EXPECT_EQ(text_message("0: 0F0 0F1000000 2147483647F0"),
            "mine.txt:1:8: 0F1000000: stages, microbatches and slices end at 999999\n"
            "mine.txt:1:18: 2147483647F0: stages, microbatches and slices end at 999999");
  EXPECT_EQ(text_message("0: 0F0.900000 0F1.900000"),
            "mine.txt: 1800002 slices; at most 1000000 are read\n"
            "  hint: slices of a microbatch are numbered 0, 1, 2, ...");
}

TEST(ScheduleText, RefusesWhatItCannotHold) {
  const auto refusal = [](auto change) {
    Schedule schedule = parse("0: 0F0 0F1\n1: 1F0\n");
    schedule.name = "mine";
    change(schedule.pipeline);
    return message_of([&] { write_schedule(schedule, Format::Text); });
  };
  const std::string head = "schedule 'mine': text cannot hold it: ";
  const std::string tail = "\n  hint: write it as json";
  EXPECT_EQ(refusal([](Pipeline&) {}), "");
  EXPECT_EQ(refusal([](Pipeline& p) {
              p.routes = {{0}, {1}};
            }),
            head + "it has 2 routes, where a stage feeds the one numbered after it" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) {
              p.routes = {{1, 0}};
            }),
            head + "its route does not pass the stages in order" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) { p.stages[1].part = 0; }),
            head + "stage 1 holds part 0" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) { p.microbatches[1].sequences = 2; }),
            head + "microbatch 1 has 2 sequences" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) { p.microbatches[0].slice_tokens = {5}; }),
            head + "microbatch 0 has slices of given lengths" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) { p.learning.kind = LearningKind::ForwardOnly; }),
            head + "it is inference, without backwards" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) { p.learning.kind = LearningKind::Local; }),
            head + "its stages learn in windows" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) { p.learning.queue_capacity = 1; }),
            head + "its queues are bounded" + tail);
  EXPECT_EQ(refusal([](Pipeline& p) { p.microbatches.resize(3); }),
            head + "its ops do not name every stage, microbatch and slice on its own actor" + tail);
}

TEST(ReadSchedule, DetectsTheFormatByContent) {
  EXPECT_EQ(detect_format(" \n{", "x"), Format::Json);
  EXPECT_EQ(detect_format("# {\n\n 12: 0F0", "x"), Format::Text);
  EXPECT_EQ(detect_format("\xEF\xBB\xBF"
                          "0: 0F0",
                          "x"),
            Format::Text);
  EXPECT_EQ(read_schedule("\xEF\xBB\xBF"
                          "0: 0F0",
                          "x"),
            parse("0: 0F0"));
}

}  // namespace
}  // namespace penstock
