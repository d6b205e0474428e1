// Schedules whose microbatches go two ways over mirrored copies, against their authors' orders.
#include <fstream>
#include <functional>
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "penstock/check.h"
#include "penstock/generate.h"
#include "tables.h"

namespace penstock {
namespace {

// An op as another project names it: microbatches count inside a direction, stages maybe not at
// all.
struct Named {
  std::int32_t direction = 0;
  std::int32_t stage = -1;
  char kind = 'F';
  std::int32_t microbatch = 0;
};

// Rewrites every "d1F3" of a file's cells with ours(named, actor); the rest of a cell stays.
std::vector<Row> translated(const std::string& file,
                            const std::function<std::string(const Named&, std::int32_t)>& ours) {
  static const std::regex kName("d([01])(?:s([0-9]+))?([FBIW])([0-9]+)");
  std::vector<Row> rows = read_rows(file);
  for (std::size_t actor = 0; actor < rows.size(); ++actor) {
    for (std::string& cell : rows[actor]) {
      std::string text;
      std::smatch found;
      for (; std::regex_search(cell, found, kName); cell = found.suffix()) {
        const Named named{.direction = std::stoi(found[1]),
                          .stage = found[2].matched ? std::stoi(found[2]) : -1,
                          .kind = found[3].str()[0],
                          .microbatch = std::stoi(found[4])};
        text += found.prefix().str() + ours(named, static_cast<std::int32_t>(actor));
      }
      cell = text + cell;
    }
  }
  return rows;
}

std::string cell(std::int32_t stage, char kind, std::int32_t microbatch) {
  return std::to_string(stage) + kind + std::to_string(microbatch);
}

// Direction 1 holds stages p .. 2p-1, the first of them on the last actor, and the second half of
// the microbatches.
TEST(TwoRoutes, DualPipeIsDeepSeeksCellForCell) {
  for (const std::int32_t m : {8, 10}) {
    const std::int32_t p = 4;
    const Schedule schedule = generate("dualpipe", {.actors = p, .microbatches = m});
    const auto ours = [&](const Named& op, std::int32_t actor) {
      return op.direction == 0 ? cell(actor, op.kind, op.microbatch)
                               : cell(2 * p - 1 - actor, op.kind, m / 2 + op.microbatch);
    };
    EXPECT_EQ(rows_of(schedule),
              translated("other/dualpipe_p4_m" + std::to_string(m) + ".csv", ours));
    EXPECT_THAT(check(schedule), testing::IsEmpty());
  }
}

TEST(TwoRoutes, DualPipePlacesMirroredCopies) {
  const Pipeline pipeline = generate("dualpipe", {.actors = 4, .microbatches = 10}).pipeline;
  EXPECT_EQ(pipeline.routes, (std::vector<Route>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  const std::vector<Stage> stages = {{0, 0}, {1, 1}, {2, 2}, {3, 3},
                                     {3, 0}, {2, 1}, {1, 2}, {0, 3}};
  EXPECT_EQ(pipeline.stages, stages);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(pipeline.microbatches[i].route, i < 5 ? 0 : 1) << i;
  }
}

// A cell is a slot, "2downf": unit 1's (2 pipes a unit) way down, a forward; "s" cells synchronise.
// Microbatches are not named: they pass a stage in their order.
std::vector<Row> chimeras_rows(const std::string& file, std::int32_t p) {
  std::vector<Row> rows = read_rows(file);
  for (std::size_t actor = 0; actor < rows.size(); ++actor) {
    Row row;
    std::map<std::string, std::int32_t> passed;  // by cell
    for (const std::string& slot : rows[actor]) {
      if (slot.back() == 's') continue;
      const std::int32_t pipe = std::stoi(slot);
      const bool down = slot.find("down") != std::string::npos;
      const auto a = static_cast<std::int32_t>(actor);
      const std::int32_t stage = down ? a : 2 * p - 1 - a;
      const char kind = slot.back() == 'f' ? 'F' : 'B';
      row.push_back(cell(stage, kind, pipe / 2 * p + (down ? 0 : p / 2) + passed[slot]++));
    }
    rows[actor] = row;
  }
  return rows;
}

TEST(TwoRoutes, ChimeraIsItsAuthorsCellForCell) {
  for (const std::int32_t m : {4, 8}) {
    const Schedule schedule = generate("chimera", {.actors = 4, .microbatches = m});
    const std::string file = "other/chimera_D4_pipes2_N" + std::to_string(m) + ".csv";
    EXPECT_EQ(rows_of(schedule), chimeras_rows(file, 4));
    EXPECT_THAT(check(schedule), testing::IsEmpty());
    for (std::int32_t i = 0; i < m; ++i) {
      EXPECT_EQ(schedule.pipeline.microbatches[static_cast<std::size_t>(i)].route, i % 4 / 2);
    }
  }
}

TEST(TwoRoutes, ChimeraSharesFewMicrobatchesEvenly) {
  const auto routes = [](std::int32_t m, const char* pipes) {
    std::vector<std::int32_t> list;
    for (const Microbatch& microbatch :
         generate("chimera", {.actors = 8, .microbatches = m, .option = {{"pipes", pipes}}})
             .pipeline.microbatches) {
      list.push_back(microbatch.route);
    }
    return list;
  };
  using testing::ElementsAre;
  EXPECT_THAT(routes(1, "2"), ElementsAre(0));
  EXPECT_THAT(routes(5, "2"), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(routes(11, "2"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1));
  EXPECT_THAT(routes(10, "4"), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 0, 1));
}

// Whatever the number of pipes, every actor holds one stage of each, and every part as often.
TEST(TwoRoutes, ChimerasPipesStartAtEqualDistances) {
  const Pipeline pipeline =
      generate("chimera", {.actors = 4, .microbatches = 4, .option = {{"pipes", "4"}}}).pipeline;
  const std::vector<Stage> stages = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {2, 0}, {3, 1},
                                     {0, 2}, {1, 3}, {3, 0}, {2, 1}, {1, 2}, {0, 3},
                                     {1, 0}, {0, 1}, {3, 2}, {2, 3}};
  EXPECT_EQ(pipeline.stages, stages);
}

// A unit of p microbatches: the first half, two of four here, goes direction 0.
void expect_bitpipe(std::int32_t m, const char* variant, const std::string& file) {
  const std::int32_t p = 4;
  const Schedule schedule =
      generate("bitpipe", {.actors = p, .microbatches = m, .option = {{"variant", variant}}});
  const auto ours = [&](const Named& op, std::int32_t) {
    const std::int32_t microbatch =
        op.microbatch / (p / 2) * p + op.direction * (p / 2) + op.microbatch % (p / 2);
    return cell(op.direction * 2 * p + op.stage, op.kind, microbatch);
  };
  EXPECT_EQ(rows_of(schedule), translated(file, ours)) << variant;
  EXPECT_THAT(check(schedule), testing::IsEmpty());
  for (std::int32_t i = 0; i < m; ++i) {
    EXPECT_EQ(schedule.pipeline.microbatches[static_cast<std::size_t>(i)].route, i % p / (p / 2));
  }
}

TEST(TwoRoutes, BitPipeIsItsAuthorsCellForCell) {
  expect_bitpipe(4, "released", "other/bitpipe_p4_m4.csv");
  expect_bitpipe(8, "released", "other/bitpipe_p4_m8.csv");
  expect_bitpipe(4, "concat", "other/bitpipe_p4_m4.csv");
  expect_bitpipe(8, "concat", "other/bitpipe_figure_p4_m8.csv");
}

// The same orders as a list "F2@3" per actor, stages 0 .. 2p-1 in both directions.
TEST(TwoRoutes, BitPipeIsItsAuthorsListOfOps) {
  std::ifstream in(TEST_DATA "/orders/other/bitpipe_orders.json");
  const nlohmann::json golden = nlohmann::json::parse(in);
  EXPECT_EQ(golden.size(), 2U);
  for (const auto& [size, one] : golden.items()) {
    const Schedule schedule =
        generate("bitpipe", {.actors = 4, .microbatches = size == "D4_N4" ? 4 : 8});
    std::vector<Row> rows;
    for (const auto& order : schedule.order) {
      Row& row = rows.emplace_back();
      for (const auto& [op, overlaps] : order) {
        row.push_back(letter(op.kind) + std::to_string(op.microbatch) + "@" +
                      std::to_string(op.stage % 8));
      }
    }
    EXPECT_EQ(rows, one["orders"].get<std::vector<Row>>()) << size;
  }
}

TEST(TwoRoutes, BitPipePlacesTwoVs) {
  const Pipeline pipeline = generate("bitpipe", {.actors = 2, .microbatches = 2}).pipeline;
  const std::vector<Stage> stages = {{0, 0}, {1, 1}, {1, 2}, {0, 3},
                                     {1, 0}, {0, 1}, {0, 2}, {1, 3}};
  EXPECT_EQ(pipeline.stages, stages);
  EXPECT_EQ(pipeline.routes, (std::vector<Route>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

// One op after the other where the paper overlaps them; the order of ops stays.
TEST(TwoRoutes, UnfusedPairsKeepTheOrder) {
  for (const std::int32_t p : {2, 4, 6, 8}) {
    Schedule fused = generate("dualpipe", {.actors = p, .microbatches = 2 * p + 2});
    const Schedule unfused =
        generate("dualpipe", {.actors = p, .microbatches = 2 * p + 2, .option = {{"fused", "0"}}});
    EXPECT_NE(fused, unfused);
    for (auto& order : fused.order) {
      for (Step& step : order) step.overlaps_previous = false;
    }
    EXPECT_EQ(fused, unfused);
    EXPECT_THAT(check(unfused), testing::IsEmpty());
  }
}

// The two halves of a DualPipe are a DualPipeV each, on the arms of whose V sit the two routes.
TEST(TwoRoutes, DualPipeIsTwoDualPipeVs) {
  for (const std::int32_t half : {1, 2, 3, 5}) {
    for (const std::int32_t m : {2 * half, 2 * half + 1, 5 * half}) {
      const Schedule v = generate("dualpipev", {.actors = half, .microbatches = m});
      const Schedule both = generate("dualpipe", {.actors = 2 * half, .microbatches = 2 * m});
      for (std::int32_t actor = 0; actor < half; ++actor) {
        std::vector<Step> steps = both.order[static_cast<std::size_t>(actor)];
        for (Step& step : steps) {
          const bool down = step.op.microbatch < m;
          step.op.stage = down ? actor : 2 * half - 1 - actor;
          if (!down) step.op.microbatch -= m;
        }
        EXPECT_EQ(steps, v.order[static_cast<std::size_t>(actor)]) << half << " " << m;
      }
    }
  }
}

}  // namespace
}  // namespace penstock
