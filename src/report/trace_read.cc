#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "json_reader.h"
#include "penstock/number_text.h"
#include "penstock/trace.h"
#include "problem_list.h"
#include "report/labels.h"
#include "report/timeline_check.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = 1 << 20;  // actors, and slices of a microbatch
constexpr std::int64_t kMostBytes = 9'000'000'000'000'000;
constexpr const char* kHint =
    "a trace of Penstock comes from 'penstock simulate --trace' or 'penstock train --out'";
constexpr const char* kChromeHint =
    "'penstock convert --from kineto' reads the traces of torch's profiler, one per rank";

bool full(const std::vector<Problem>& problems) {
  return problems.size() >= ProblemList::kMost;
}

std::int64_t whole(const JsonReader& row, std::size_t column, std::int64_t max) {
  return row.at(column).as_integer({.max = max});
}

std::int32_t index(const JsonReader& row, std::size_t column) {
  return static_cast<std::int32_t>(whole(row, column, INT32_MAX));
}

// A row of exactly `columns` values.
bool is_row(const JsonReader& row, std::size_t columns) {
  if (!row.is_array()) return false;
  if (row.size() == columns) return true;
  row.problem(fmt::format("expected {} values, found {}", columns, row.size()));
  return false;
}

TimelineSource read_source(const JsonReader& root) {
  const std::string text = root.text("source", {}, true);
  for (const TimelineSource source :
       {TimelineSource::Predicted, TimelineSource::Measured, TimelineSource::Imported}) {
    if (text == name(source)) return source;
  }
  if (root.has("source")) {
    root.at("source").problem(fmt::format("unknown source '{}'", text),
                              "known: predicted, measured, imported");
  }
  return TimelineSource::Imported;
}

std::vector<TimelineStage> read_stages(const JsonReader& root,
                                       const std::vector<Problem>& problems) {
  std::vector<TimelineStage> stages;
  const auto list = root.required("stages", "a list");
  if (!list || !list->is_array()) return stages;
  for (std::size_t i = 0; i < list->size() && !full(problems); ++i) {
    const JsonReader stage = list->at(i);
    if (!stage.is_object()) continue;
    const std::int64_t activation = stage.integer("activation_bytes", {.max = kMostBytes});
    stages.push_back(
        {.actor = static_cast<std::int32_t>(stage.integer("actor", {.required = true})),
         .part = static_cast<std::int32_t>(stage.integer("part", {.required = true})),
         .activation_bytes = activation,
         .kept_bytes = stage.integer("kept_bytes", {.max = kMostBytes}),
         .left_bytes = stage.integer("left_bytes", {.max = activation, .fallback = activation}),
         .weight_bytes = stage.integer("weight_bytes", {.max = kMostBytes}),
         .route = static_cast<std::int32_t>(stage.integer("route"))});
  }
  return stages;
}

std::vector<std::int32_t> read_slices(const JsonReader& root,
                                      const std::vector<Problem>& problems) {
  std::vector<std::int32_t> slices;
  if (!root.has("slices")) return slices;
  const JsonReader list = root.at("slices");
  if (!list.is_array()) return slices;
  for (std::size_t i = 0; i < list.size() && !full(problems); ++i) {
    slices.push_back(
        static_cast<std::int32_t>(list.at(i).as_integer({.min = 1, .max = kMost, .fallback = 1})));
  }
  return slices;
}

// The number behind "reduce " or "update ".
std::optional<std::int32_t> stage_behind(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  const auto stage = parse_number<std::int32_t>(text);
  return stage && *stage >= 0 ? stage : std::nullopt;
}

std::optional<ActionKind> exchange_of(std::string_view text) {
  if (text == "norm") return ActionKind::GlobalNorm;
  if (text == "own norm") return ActionKind::PartialNorm;
  if (text == "verdict") return ActionKind::Verdict;
  return std::nullopt;
}

// What ran: the inverse of label(span).
void read_label(const JsonReader& cell, Span& span) {
  const std::string text = cell.as_text();
  if (const auto op = parse_op(text)) {
    span.op = *op;
  } else if (const auto reduced = stage_behind(text, "reduce ")) {
    span.kind = ActionKind::ReduceGradients;
    span.op.stage = *reduced;
  } else if (const auto updated = stage_behind(text, "update ")) {
    span.kind = ActionKind::Update;
    span.op.stage = *updated;
  } else if (const auto kind = exchange_of(text)) {
    span.kind = *kind;
    span.op.stage = -1;
  } else if (cell.value().is_string()) {
    cell.problem(fmt::format("'{}' is no op", text),
                 "an op is stage, kind, microbatch: 3F5; else: reduce 3, update 3, norm, own norm, "
                 "verdict");
  }
}

Span read_span(const JsonReader& row) {
  Span span;
  read_label(row.at(std::size_t{0}), span);
  span.actor = index(row, 1);
  span.start = whole(row, 2, kLongestTrace);
  span.end = whole(row, 3, kLongestTrace);
  span.awaits = row.at(4).value().is_null() ? -1 : index(row, 4);
  span.overlaps_previous = row.at(5).as_boolean(false);
  return span;
}

Transfer read_transfer(const JsonReader& row) {
  Transfer transfer;
  const JsonReader producer = row.at(std::size_t{0});
  const std::string text = producer.as_text();
  if (const auto op = parse_op(text)) {
    transfer.op = *op;
  } else if (producer.value().is_string()) {
    producer.problem(fmt::format("'{}' is no op", text), "stage, kind, microbatch: 3F5");
  }
  const std::string kind = row.at(1).as_text("activation");
  if (kind != tensor_name(OpKind::Forward) && kind != tensor_name(OpKind::Backward)) {
    row.at(1).problem(fmt::format("unknown kind '{}'", kind), "known: activation, gradient");
  }
  transfer.kind = kind == tensor_name(OpKind::Backward) ? OpKind::Backward : OpKind::Forward;
  transfer.from = index(row, 2);
  transfer.to = index(row, 3);
  transfer.bytes = whole(row, 4, kMostBytes);
  transfer.ready = whole(row, 5, kLongestTrace);
  transfer.start = whole(row, 6, kLongestTrace);
  transfer.end = whole(row, 7, kLongestTrace);
  return transfer;
}

template <typename Row, typename Read>
std::vector<Row> read_rows(const JsonReader& root, std::string_view key, std::size_t columns,
                           Read read, const std::vector<Problem>& problems) {
  std::vector<Row> rows;
  const auto list = root.required(key, "a list of rows");
  if (!list || !list->is_array()) return rows;
  rows.reserve(list->size());
  for (std::size_t i = 0; i < list->size() && !full(problems); ++i) {
    const JsonReader row = list->at(i);
    if (is_row(row, columns)) rows.push_back(read(row));
  }
  return rows;
}

Timeline read_timeline(const JsonReader& root, const std::vector<Problem>& problems) {
  Timeline timeline;
  root.integer("trace", {.required = true, .min = 1, .max = 1});
  timeline.name = root.text("name", {}, true);
  timeline.source = read_source(root);
  timeline.actors =
      static_cast<std::int32_t>(root.integer("actors", {.required = true, .min = 1, .max = kMost}));
  timeline.microbatches = static_cast<std::int32_t>(
      root.integer("microbatches", {.required = true, .min = 1, .max = kMostTraceMicrobatches}));
  timeline.tokens = root.integer("tokens", {.max = kMostBytes});
  timeline.period = root.integer("period", {.max = kLongestTrace});
  timeline.stages = read_stages(root, problems);
  timeline.slices = read_slices(root, problems);
  timeline.spans = read_rows<Span>(root, "spans", 6, read_span, problems);
  timeline.transfers = read_rows<Transfer>(root, "transfers", 8, read_transfer, problems);
  return timeline;
}

// Throws an Error that says what the file is instead.
void require_trace(const nlohmann::json& document, std::string_view text,
                   const std::string& where) {
  if (document.is_object() && document.contains("penstock")) {
    if (document["penstock"].is_object()) return;
    throw Error(where + ":/penstock", "expected an object: this is no trace", kHint);
  }
  const bool chrome = document.is_array() || text.find("\"traceEvents\"") != std::string_view::npos;
  if (chrome) {
    throw Error(where, "a trace of another program: it has no \"penstock\" object", kChromeHint);
  }
  throw Error(where, "no trace: it has no \"penstock\" object", kHint);
}

}  // namespace

Timeline read_trace(std::string_view json, const std::string& where) {
  const nlohmann::json document = parse_json(json, where, "traceEvents");
  require_trace(document, json, where);
  std::vector<Problem> problems;
  const JsonReader root = JsonReader(document, where, problems).at("penstock");
  Timeline timeline = read_timeline(root, problems);
  // Indices and times mean something only when every value could be read.
  if (problems.empty()) problems = check_timeline(timeline, where, ProblemList::kMost);
  if (problems.empty()) return timeline;
  if (full(problems)) {
    problems.resize(ProblemList::kMost - 1);
    problems.push_back({where, "there may be more problems: only the first are shown", {}});
  }
  throw Error(std::move(problems));
}

}  // namespace penstock
