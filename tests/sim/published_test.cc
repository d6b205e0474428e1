// Published and measured numbers: tests/data/simulation.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios.h"

namespace penstock {
namespace {

using CsvRow = std::vector<std::string>;

std::string read_file(const std::string& file) {
  std::ifstream in(TEST_DATA "/simulation/" + file);
  EXPECT_TRUE(in) << file;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Quoted cells may hold commas. The first row is the header.
std::vector<CsvRow> read_csv(const std::string& file) {
  std::vector<CsvRow> rows;
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);) {
    CsvRow row(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) {
        row.emplace_back();
      } else if (c != '"' && c != '\r') {
        row.back() += c;
      }
    }
    rows.push_back(row);
  }
  return rows;
}

std::size_t column(const CsvRow& header, const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), name);
  EXPECT_NE(found, header.end()) << name;
  return static_cast<std::size_t>(found - header.begin());
}

std::vector<double> numbers(const std::string& cell) {
  std::istringstream text(cell);
  std::vector<double> values;
  for (double value = 0; text >> value;) values.push_back(value);
  return values;
}

// Table 5 of arXiv 2401.10241 from the times of its table 9. The latency counts between actors
// alone; B = I + W.
class ZeroBubblePaper : public ::testing::Test {
 protected:
  const std::vector<CsvRow> rows_ = read_csv("zero_bubble_table9.csv");

  std::string cell(std::size_t row, const std::string& name) const {
    return rows_[row][column(rows_.front(), name)];
  }
  double published(std::size_t row, const std::string& name) const {
    return std::stod(cell(row, name));
  }
  std::string costs(std::size_t row, int chunks) const {
    const auto per_chunk = [&](const char* time) { return published(row, time) / chunks; };
    return fmt::format("F={},I={},W={},latency={}", per_chunk("T_F_ms"), per_chunk("T_B_ms"),
                       per_chunk("T_W_ms"), cell(row, "T_comm_ms"));
  }
  GenerateOptions sizes(std::size_t row, int chunks) const {
    const int actors = std::stoi(cell(row, "p"));
    return {.actors = actors,
            .chunks = chunks,
            .microbatches = std::stoi(cell(row, "m")),
            .costs = parse_costs(costs(row, chunks), actors * chunks)};
  }
  Metrics metrics(std::size_t row, const char* name, int chunks = 1) const {
    return measure(simulated(name, sizes(row, chunks), costs(row, chunks)));
  }
  double rate(std::size_t row, const char* name, int chunks = 1) const {
    return metrics(row, name, chunks).bubble_ratio_span;
  }
};

TEST_F(ZeroBubblePaper, RatesToFourDecimals) {
  ASSERT_EQ(rows_.size(), 7U);
  const std::pair<const char*, const char*> columns[] = {
      {"1f1b", "paper_1F1B"}, {"zb_h1", "paper_ZB-H1"}, {"zb_h2", "paper_ZB-H2"}};
  for (std::size_t row = 1; row < rows_.size(); ++row) {
    for (const auto& [name, column] : columns) {
      EXPECT_DOUBLE_EQ(std::round(rate(row, name) * 1e4) / 1e4, published(row, column))
          << name << " " << row;
    }
  }
}

// The authors' search gives the published rates; ours may not be worse. zb_1p keeps its memory even
// if an input gradient frees nothing, zb_2p (2p, of which half is left to weight gradients) cannot.
TEST_F(ZeroBubblePaper, SearchedRatesAreNoWorse) {
  for (std::size_t row = 1; row < rows_.size(); ++row) {
    const Metrics one = metrics(row, "zb_1p");
    EXPECT_LE(one.bubble_ratio_span, published(row, "paper_ZB-1p") + 5e-5) << row;
    for (const ActorMetrics& actor : one.actors) {
      EXPECT_LE(actor.peak_in_flight, published(row, "p")) << row;
    }
    EXPECT_LE(rate(row, "zb_2p"), published(row, "paper_ZB-2p") + 5e-5) << row;
    const int actors = std::stoi(cell(row, "p"));
    EXPECT_LE(most_held(generate("zb_2p", sizes(row, 1)), 0.5), 2 * actors + 1e-9) << row;
  }
}

// An order-driven simulation pays p hops more than the paper's closed form.
TEST_F(ZeroBubblePaper, InterleavedWithin04Points) {
  for (std::size_t row = 1; row < rows_.size(); ++row) {
    const int chunks = std::stoi(cell(row, "v_1F1B-I"));
    EXPECT_NEAR(rate(row, "interleaved_1f1b", chunks), published(row, "paper_1F1B-I"), 0.004)
        << row;
  }
}

// Measured on eight A100, stages of unequal cost.
TEST(Published, MeasuredStepsOfUnevenStages) {
  const std::vector<CsvRow> rows = read_csv("vocab_parallel_8xa100.csv");
  const CsvRow& header = rows.front();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto cell = [&](const char* name) { return rows[i][column(header, name)]; };
    const std::vector<double> forward = numbers(cell("F_ms_per_stage"));
    const std::vector<double> backward = numbers(cell("B_ms_per_stage"));
    ASSERT_EQ(forward.size(), 8U);
    CostTable costs = uniform_costs(8, {});
    for (std::size_t stage = 0; stage < 8; ++stage) {
      costs.stages[stage].op[0] = Duration{.base = from_ms(forward[stage])};
      costs.stages[stage].op[1] = Duration{.base = from_ms(backward[stage])};
    }
    const Program program =
        lowered(generate("1f1b", {.actors = 8, .microbatches = std::stoi(cell("m"))}));
    const double predicted = makespan_ms(simulate(program, costs));
    const double measured = std::stod(cell("measured_iteration_ms"));
    EXPECT_LE(std::abs(predicted - measured) / measured, 0.02) << cell("config");
    EXPECT_NEAR(predicted, std::stod(cell("des_1f1b_makespan_ms(comm=0)")), 0.05 + 1e-9);
  }
  EXPECT_EQ(rows.size(), 9U);
}

// The name before "_p4_v2_m8": ours of torch's.
std::string schedule_of(const std::string& name) {
  const std::string torch = name.substr(0, name.find("_p"));
  if (torch == "zbv") return "zb_v";
  return torch == "interleaved1f1b" ? "interleaved_1f1b" : torch;
}

bool is_generated(const std::string& name) {
  return std::any_of(generators().begin(), generators().end(),
                     [&](const Generator& generator) { return generator.name == name; });
}

// torch's unit is a stage: F=1, B=2 per stage (so per chunk). Its peaks count (stage, microbatch)
// pairs that are live in [F's start, B's end]; ours counts a chunk of v as 1/v.
TEST(Published, TorchMakespansAndPeaks) {
  const std::vector<CsvRow> rows = read_csv("torch_metrics.csv");
  int compared = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    const std::string name = schedule_of(row[0]);
    if (!is_generated(name)) continue;
    const int p = std::stoi(row[1]);
    const int v = std::stoi(row[2]);
    const int m = std::stoi(row[4]);
    const Metrics metrics =
        measure(simulated(name, {.actors = p, .chunks = v, .microbatches = m}, "F=1,I=1,W=1"));
    EXPECT_DOUBLE_EQ(to_ms(metrics.makespan), std::stod(row[7])) << row[0];
    EXPECT_NEAR(metrics.bubble_ratio, std::stod(row[9]), 1e-6) << row[0];
    const std::vector<double> peaks = numbers(row[10]);
    ASSERT_EQ(peaks.size(), metrics.actors.size());
    for (std::size_t actor = 0; actor < peaks.size(); ++actor) {
      EXPECT_DOUBLE_EQ(metrics.actors[actor].peak_in_flight * v, peaks[actor])
          << row[0] << " " << actor;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 27);
}

// sail-sg's own code at F = I = W = 1 per half stage; peaks count half stages.
TEST(Published, SailSgsMakespansAndPeaks) {
  const std::map<std::string, std::pair<const char*, std::map<std::string, std::string>>> ours = {
      {"V-Min", {"v_min", {}}},
      {"V-Half", {"v_half", {}}},
      {"ZB-V", {"zb_v", {{"variant", "sailsg"}}}},
      {"1F1B-V", {"1f1b_v", {}}}};
  const std::vector<CsvRow> rows = read_csv("v_schedules_metrics.csv");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    const auto& [name, option] = ours.at(row[0]);
    const GenerateOptions sizes{
        .actors = std::stoi(row[1]), .microbatches = std::stoi(row[2]), .option = option};
    const Metrics metrics = measure(simulated(name, sizes, "F=1,I=1,W=1"));
    EXPECT_DOUBLE_EQ(to_ms(metrics.makespan), std::stod(row[3])) << row[0] << " " << i;
    EXPECT_NEAR(metrics.bubble_ratio, std::stod(row[6]), 5e-5) << row[0] << " " << i;
    const std::vector<double> peaks = numbers(row[7]);
    ASSERT_EQ(peaks.size(), metrics.actors.size());
    for (std::size_t actor = 0; actor < peaks.size(); ++actor) {
      EXPECT_DOUBLE_EQ(metrics.actors[actor].peak_in_flight * 2, peaks[actor])
          << row[0] << " " << i << " " << actor;
    }
  }
  EXPECT_EQ(rows.size(), 21U);
}

TEST(Published, EnginesAgreeToTheNanosecond) {
  const nlohmann::json golden = nlohmann::json::parse(read_file("engines_agree.json"));
  for (const auto& one : golden["cases"]) {
    const Timeline timeline =
        simulated("1f1b", {.actors = one["p"], .microbatches = one["m"]},
                  fmt::format("F=1,B=2,latency={}", one["latency_ms"].get<double>()));
    EXPECT_EQ(measure(timeline).makespan, from_ms(one["makespan_ms"]));
  }
  const struct {
    const char* key;
    const char* name;
    int chunks;
    const char* costs;
  } others[] = {{"interleaved_v2_half_size_chunks", "interleaved_1f1b", 2, "F=0.5,B=1"},
                {"zb_h1", "zb_h1", 1, "F=1,I=1,W=1"},
                {"zb_v_half_size_chunks", "zb_v", 2, "F=0.5,I=0.5,W=0.5"},
                {"v_half_half_size_chunks", "v_half", 2, "F=0.5,I=0.5,W=0.5"}};
  for (const auto& other : others) {
    const auto& one = golden[other.key][0];
    const Timeline timeline = simulated(
        other.name, {.actors = one["p"], .chunks = other.chunks, .microbatches = one["m"]},
        other.costs);
    EXPECT_EQ(measure(timeline).makespan, from_ms(one["makespan_ms"])) << other.name;
  }
}

// DynaPipe's own scheduler (awslabs/optimizing-multitask-training-through-dynamic-pipelines) on
// equal microbatches: 16 of them, forward 16 ms and backward 32 ms per stage, a hop keeps its link
// for 16 ms. Its wait-free cyclic order is 1F1B with doubled warm-up.
TEST(Published, DynaPipeOnEqualMicrobatches) {
  const struct {
    int stages;
    double one_f_one_b_ms;
    double wait_free_ms;
  } rows[] = {{2, 1888, 1664}, {4, 1360, 1008}};
  for (const auto& row : rows) {
    const double half = 64.0 / row.stages;  // 16 layers of 4 ms
    const std::string costs = fmt::format("F={},B={},bytes=16000,bandwidth=1e6", half, 2 * half);
    const GenerateOptions sizes{.actors = row.stages, .microbatches = 16};
    const auto makespan = [&](const char* name) {
      return measure(simulated(name, sizes, costs)).makespan;
    };
    EXPECT_EQ(makespan("1f1b"), from_ms(row.one_f_one_b_ms));
    EXPECT_EQ(makespan("eager_1f1b"), from_ms(row.wait_free_ms));
  }
}

// And on microbatches of different sizes, whose messages keep their links for as much longer: on
// heavy links a hop takes as long as a stage's forward of 4 layers, 16 ms, else a hundredth of it.
// The published values are means over five draws.
TEST(Published, DynaPipeOnUnevenMicrobatches) {
  const nlohmann::json golden = nlohmann::json::parse(read_file("dynapipe.json"));
  for (const auto& row : golden["rows"]) {
    const int stages = row["stages"];
    const double forward =
        golden["layers"].get<double>() / stages * golden["layer_forward_ms"].get<double>();
    std::map<std::string, double> mean;
    for (const auto& draw : golden["multipliers"][row["std"].get<std::string>()]) {
      StageCosts stage{.message = {.bytes_per_s = 1e9, .microbatch_varies = true}};
      for (const double size : draw) {
        stage.message.varied.push_back({from_ms(row["hop_ms"].get<double>() * size)});
      }
      for (const int kind : {0, 1}) {
        Duration& duration = stage.op[static_cast<std::size_t>(kind)].emplace();
        duration.microbatch_varies = true;
        for (const double size : draw) {
          duration.varied.push_back({from_ms(forward * (1 + kind) * size)});
        }
      }
      for (const char* name : {"1f1b", "eager_1f1b"}) {
        const Program program = lowered(generate(name, {.actors = stages, .microbatches = 16}));
        const Timeline timeline = simulate(program, uniform_costs(stages, stage));
        mean[name] += to_ms(measure(timeline).makespan) / 5;
      }
    }
    const double one_f_one_b = row["one_f_one_b_ms"];
    const double wait_free = row["wait_free_cyclic_ms"];
    EXPECT_NEAR(mean["1f1b"], one_f_one_b, 0.005 * one_f_one_b) << row;
    EXPECT_NEAR(mean["eager_1f1b"], wait_free, 0.005 * wait_free) << row;
  }
}

// BaPipe's order: 1F1B with `warmup` forwards before the first backward.
Schedule with_warmup(int actors, int microbatches, int (*warmup)(int actors, int actor)) {
  Schedule schedule = generate("1f1b", {.actors = actors, .microbatches = microbatches});
  for (int actor = 0; actor < actors; ++actor) {
    std::vector<Step>& order = schedule.order[static_cast<std::size_t>(actor)];
    order.clear();
    const int ahead = std::min(microbatches, warmup(actors, actor));
    for (int i = 0; i < ahead; ++i) order.push_back({.op = {OpKind::Forward, actor, i}});
    for (int i = 0; i < microbatches; ++i) {
      order.push_back({.op = {OpKind::Backward, actor, i}});
      if (ahead + i < microbatches) {
        order.push_back({.op = {OpKind::Forward, actor, ahead + i}});
      }
    }
  }
  return schedule;
}

TEST(Published, BaPipe) {
  const nlohmann::json golden = nlohmann::json::parse(read_file("bapipe.json"));
  const auto makespan = [&](const Schedule& schedule, double latency) {
    const Program program = lowered(schedule);
    const std::string costs = fmt::format("F=1,B=2,latency={}", latency);
    return measure(simulate(program, parse_costs(costs, stages_of(program)))).makespan;
  };
  const double hop = golden["SR"];
  for (const auto& row : golden["rows"]) {
    const int n = row["N"];
    const int m = row["M"];
    // The paper counts actors from 1: N-i+1 and 2(N-i+1).
    const Schedule one = with_warmup(n, m, [](int actors, int actor) { return actors - actor; });
    const Schedule two =
        with_warmup(n, m, [](int actors, int actor) { return 2 * (actors - actor); });
    EXPECT_EQ(one, generate("1f1b", {.actors = n, .microbatches = m}));
    EXPECT_EQ(makespan(one, 0), from_ms(row["AS"]));
    EXPECT_EQ(makespan(one, hop), from_ms(row["SNO"])) << n << " " << m;
    EXPECT_EQ(makespan(two, hop), from_ms(row["SO"])) << n << " " << m;
  }
}

// Their rendezvous column: batches of paired transfers that hold both lanes.
TEST(Published, BaPipeRendezvous) {
  const nlohmann::json golden = nlohmann::json::parse(read_file("bapipe.json"));
  const double hop = golden["SR"];
  for (const auto& row : golden["rows"]) {
    const Timeline timeline =
        simulated("1f1b", {.actors = row["N"], .microbatches = row["M"]},
                  fmt::format("F=1,B=2,latency={}", hop), {.p2p = P2p::Blocking});
    const double coefficient = row["rendezvous_duplex_coefficient"];
    EXPECT_EQ(measure(timeline).makespan, from_ms(row["AS"].get<double>() + coefficient * 2 * hop));
  }
}

}  // namespace
}  // namespace penstock
