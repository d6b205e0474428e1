#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "penstock/formats.h"

namespace penstock {
namespace {

// A schedule of the kind that only JSON holds: two routes, mirrored parts, sizes.
Schedule two_routes() {
  Schedule schedule = parse("0: 0F0 (0F1;3B0)\n1: 1F0 2F1\n");
  schedule.name = "two \"routes\"\n";
  schedule.pipeline.stages = {{0, 0}, {1, 1}, {1, 0}, {0, 1}};
  schedule.pipeline.routes = {{0, 1}, {2, 3}};
  schedule.pipeline.microbatches = {{.route = 0, .sequences = 4, .slice_tokens = {}},
                                    {.route = 1, .sequences = 2, .slice_tokens = {600, 424}}};
  return schedule;
}

std::string json_message(std::string_view content) {
  return message_of([&] { read_schedule(content, "mine.json", Format::Json); });
}

TEST(ScheduleJson, ReadsTheDocumentedFile) {
  const Schedule schedule =
      read_schedule(R"json({"penstock_schedule": 1, "name": "mine", "actors": 2,
      "stages": [{"actor": 0, "part": 0}, {"actor": 1, "part": 1}], "microbatches": 2,
      "order": [["0F0", "0F1", "0B0", "0B1"], ["1F0", "(1F1;1B0)", "1B1"]]})json",
                    "mine.json");
  Schedule expected = parse("0: 0F0 0F1 0B0 0B1\n1: 1F0 (1F1;1B0) 1B1\n");
  expected.name = "mine";
  EXPECT_EQ(schedule, expected);
}

TEST(ScheduleJson, IsWrittenReadably) {
  Schedule schedule = parse("0: 0F0 0F1 0B0 0B1\n1: 1F0 (1F1;1B0) 1B1\n");
  schedule.name = "mine";
  EXPECT_EQ(write_schedule(schedule, Format::Json), R"json({
  "penstock_schedule": 1,
  "name": "mine",
  "actors": 2,
  "stages": [
    {"actor": 0, "part": 0},
    {"actor": 1, "part": 1}
  ],
  "routes": [
    [0, 1]
  ],
  "microbatches": 2,
  "order": [
    ["0F0", "0F1", "0B0", "0B1"],
    ["1F0", "(1F1;1B0)", "1B1"]
  ]
}
)json");
}

TEST(ScheduleJson, HoldsRoutesPartsAndSizes) {
  const Schedule schedule = two_routes();
  EXPECT_EQ(read_schedule(write_schedule(schedule, Format::Json), "x"), schedule);
}

Learning any_learning() {
  return {.kind = *rc::gen::elementOf(
              std::vector(std::begin(kLearningKinds), std::end(kLearningKinds))),
          .window = *rc::gen::inRange(1, 5),
          .stride = *rc::gen::inRange(1, 5),
          .combine = *rc::gen::element(Combine::Sum, Combine::Furthest),
          .aux = *rc::gen::element(AuxHead::Linear, AuxHead::Mlp, AuxHead::Block),
          .queue_capacity = *rc::gen::inRange(0, 5)};
}

TEST(ScheduleJson, HoldsLearning) {
  Schedule schedule = two_routes();
  const auto written = [&] {
    const std::string text = write_schedule(schedule, Format::Json);
    EXPECT_EQ(read_schedule(text, "x"), schedule);
    const std::size_t at = text.find("  \"learning\"");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(written(), "");
  schedule.pipeline.learning.kind = LearningKind::ForwardOnly;
  EXPECT_EQ(written(), R"(  "learning": {"kind": "inference"},)");
  schedule.pipeline.learning = {.kind = LearningKind::Local,
                                .window = 2,
                                .combine = Combine::Furthest,
                                .aux = AuxHead::Block,
                                .queue_capacity = 3};
  EXPECT_EQ(written(),
            R"(  "learning": {"kind": "windows", "window": 2, "stride": 1, "combine": "furthest", )"
            R"("aux": "block", "queue_capacity": 3},)");
}

TEST(ScheduleJson, SaysWhatIsWrongWithLearning) {
  const auto message = [](const std::string& learning) {
    return json_message(R"({"penstock_schedule": 1, "actors": 1, "stages": [], "microbatches": 1,
                            "order": [], "learning": )" +
                        learning + "}");
  };
  EXPECT_EQ(message("null"), "");
  EXPECT_EQ(message("2"), "mine.json:/learning: expected an object, found 2");
  EXPECT_EQ(message(R"({"window": 0, "strid": 1, "queue_capacity": 0})"),
            R"(mine.json:/learning/strid: unknown key 'strid'
  hint: did you mean 'stride'?
mine.json:/learning: 'kind' is missing
  hint: as in {"kind": "windows", "window": 2, "stride": 1}
mine.json:/learning/window: 0 is out of range
  hint: allowed: 1 to 1000000
mine.json:/learning/queue_capacity: 0 is out of range
  hint: allowed: 1 to 1000000)");
  EXPECT_EQ(message(R"({"kind": "window", "combine": 7, "aux": "head"})"),
            R"(mine.json:/learning/kind: unknown kind 'window'
  hint: did you mean 'windows'?
mine.json:/learning/combine: expected a string, found 7
mine.json:/learning/aux: unknown aux 'head'
  hint: known: linear, mlp, block)");
}

RC_GTEST_PROP(ScheduleJson, RoundTrip, ()) {
  Schedule schedule = arbitrary_derivable_schedule();
  schedule.pipeline.learning = any_learning();
  RC_ASSERT(read_schedule(write_schedule(schedule, Format::Json), "x") == schedule);
}

RC_GTEST_PROP(ScheduleJson, MutationsAreReadOrRefused, ()) {
  Schedule original = two_routes();
  original.pipeline.learning = any_learning();
  const std::string text = mutated(write_schedule(original, Format::Json));
  try {
    const Schedule schedule = read_schedule(text, "x", Format::Json);
    RC_ASSERT(read_schedule(write_schedule(schedule, Format::Json), "x") == schedule);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

TEST(ScheduleJson, SaysEverythingThatIsWrong) {
  EXPECT_EQ(json_message(R"json({"penstock_schedule": 2, "name": 7, "actor": 2, "actors": -1,
      "stages": [{"actor": 0, "par": 0}, 3], "routes": [[0, "1"]], "microbatches": 1e300,
      "order": [["0F0", "0X1", 5], "1F0"]})json"),
            R"json(mine.json:/actor: unknown key 'actor'
  hint: did you mean 'actors'?
mine.json:/penstock_schedule: 2 is out of range
  hint: only 1 is allowed
mine.json:/name: expected a string, found 7
mine.json:/actors: -1 is out of range
  hint: allowed: 1 to 1000000
mine.json:/stages/0/par: unknown key 'par'
  hint: did you mean 'part'?
mine.json:/stages/0: 'part' is missing
  hint: it holds a whole number
mine.json:/stages/1: expected an object, found 3
mine.json:/routes/0/1: expected a whole number, found "1"
mine.json:/microbatches: 1e+300 is out of range
  hint: allowed: 1 to 1000000
mine.json:/order/0/1: '0X1' is not an op
  hint: 3F5 is the forward of stage 3, microbatch 5; (0F1;7B3) is an overlapped pair
mine.json:/order/0/2: expected a string, found 5
mine.json:/order/1: expected an array, found "1F0")json");
}

TEST(ScheduleJson, SaysWhatIsMissing) {
  EXPECT_EQ(json_message("{}"), R"json(mine.json: 'penstock_schedule' is missing
  hint: it holds a whole number
mine.json: 'actors' is missing
  hint: it holds a whole number
mine.json: 'stages' is missing
  hint: it holds {"actor", "part"} for every stage
mine.json: 'microbatches' is missing
  hint: it holds a whole number
mine.json: 'order' is missing
  hint: it holds a list of ops for every actor)json");
}

TEST(ScheduleJson, RefusesWhatIsNoScheduleAtAll) {
  EXPECT_EQ(json_message("[1, 2]"), "mine.json: expected an object, found [1,2]");
  EXPECT_EQ(json_message(R"json({"name": NaN})json").substr(0, 35),
            "mine.json:1:10: not valid JSON: syn");
  EXPECT_EQ(json_message(std::string(100000, '[')), "mine.json: nested deeper than 200 levels");
  EXPECT_EQ(json_message(R"json({"actors": 1e999})json"), "mine.json: a number is too large");
}

TEST(ScheduleJson, RefusesKeysThatAreGivenTwice) {
  EXPECT_EQ(json_message(R"json({"penstock_schedule": 1, "actors": 1, "microbatches": 1,
      "stages": [{"actor": 0, "part": 0}, {"actor": 0, "part": 1, "part": 1}],
      "order": [["0F0", "0B0"]], "order": []})json"),
            "mine.json:/stages/1/part: the key is given twice\n"
            "  hint: keep one of them\n"
            "mine.json:/order: the key is given twice\n"
            "  hint: keep one of them");
}

TEST(ScheduleJson, ALongKeyIsCut) {
  EXPECT_LT(json_message("{\"" + std::string(100000, 'x') + "\": 1}").size(), 1000U);
}

TEST(ScheduleJson, SaysThatAFileIsEmpty) {
  for (const char* content : {"", " \n\n"}) {
    EXPECT_EQ(json_message(content), "mine.json: the file is empty\n  hint: JSON begins with {");
  }
}

TEST(ScheduleJson, RefusesToWriteAPairWithoutItsFirst) {
  Schedule schedule = parse("0: 0F0 0B0");
  schedule.order[0][0].overlaps_previous = true;
  EXPECT_EQ(message_of([&] { write_schedule(schedule, Format::Json); }),
            "actor 0: 0F0 overlaps a step that is not there\n"
            "  hint: a pair is two steps, of which the second overlaps the first");
}

}  // namespace
}  // namespace penstock
