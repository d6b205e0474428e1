#include "tables.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace penstock {
namespace {

constexpr std::string_view kOverlap = "OVERLAP_F_B";

std::vector<Step> steps_of(const std::string& cell) {
  std::vector<Step> steps;
  std::string text = cell;
  if (text.front() == '(') text = text.substr(1, text.find(')') - 1);
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const std::optional<Op> op = parse_op(part);
    if (!op) throw std::runtime_error("no op: " + cell);
    steps.push_back({*op, !steps.empty()});
  }
  return steps;
}

}  // namespace

std::vector<Row> read_rows(const std::string& file) {
  std::ifstream in(std::string(TEST_DATA) + "/orders/" + file);
  if (!in) throw std::runtime_error("no file " + file);
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    Row& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) {
      if (!cell.empty()) row.push_back(cell);
    }
  }
  return rows;
}

std::vector<Row> rows_of(const Schedule& schedule) {
  std::vector<Row> rows;
  for (const std::vector<Step>& steps : schedule.order) {
    Row& row = rows.emplace_back();
    for (const Step& step : steps) {
      if (step.overlaps_previous) {
        row.back() = "(" + row.back() + ";" + to_string(step.op) + ")" + std::string(kOverlap);
      } else {
        row.push_back(to_string(step.op));
      }
    }
  }
  return rows;
}

std::string cell_of(const Program& program, const Action& action) {
  const auto i = static_cast<std::size_t>(action.index);
  if (action.kind == ActionKind::Compute) return to_string(program.computes[i].op);
  const Message& message = program.messages[i];
  const bool send = action.kind == ActionKind::Send;
  const auto end = static_cast<std::size_t>(send ? message.producer : message.consumer);
  const Op& op = program.computes[end].op;
  return std::to_string(op.stage) + (send ? "SEND_" : "RECV_") + letter(message.kind) +
         std::to_string(op.microbatch);
}

std::vector<Row> split_pairs(std::vector<Row> rows) {
  for (Row& row : rows) {
    Row cells;
    for (const std::string& cell : row) {
      if (cell.front() != '(') {
        cells.push_back(cell);
        continue;
      }
      const std::size_t middle = cell.find(';');
      cells.push_back(cell.substr(1, middle - 1));
      cells.push_back(cell.substr(middle + 1, cell.find(')') - middle - 1));
    }
    row = std::move(cells);
  }
  return rows;
}

Schedule schedule_of(const std::vector<Row>& rows) {
  Schedule schedule;
  Pipeline& pipeline = schedule.pipeline;
  pipeline.actors = static_cast<std::int32_t>(rows.size());
  pipeline.routes.resize(1);
  for (std::int32_t actor = 0; actor < pipeline.actors; ++actor) {
    std::vector<Step>& order = schedule.order.emplace_back();
    for (const std::string& cell : rows[static_cast<std::size_t>(actor)]) {
      for (const Step& step : steps_of(cell)) order.push_back(step);
    }
  }
  for (std::int32_t actor = 0; actor < pipeline.actors; ++actor) {
    for (const Step& step : schedule.order[static_cast<std::size_t>(actor)]) {
      const auto stage = static_cast<std::size_t>(step.op.stage);
      if (stage >= pipeline.stages.size()) pipeline.stages.resize(stage + 1, {-1, -1});
      if (pipeline.stages[stage].actor < 0) pipeline.stages[stage] = {actor, step.op.stage};
      const auto microbatch = static_cast<std::size_t>(step.op.microbatch);
      if (microbatch >= pipeline.microbatches.size()) pipeline.microbatches.resize(microbatch + 1);
      auto& slices = pipeline.microbatches[microbatch].slice_tokens;
      const auto slice = static_cast<std::size_t>(step.op.slice);
      if (slice >= slices.size() && slice > 0) slices.resize(slice + 1, 1);
    }
  }
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    pipeline.routes[0].push_back(static_cast<std::int32_t>(stage));
  }
  return schedule;
}

Schedule schedule_of(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Row& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; cells >> cell;) row.push_back(cell);
  }
  return schedule_of(rows);
}

}  // namespace penstock
