#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_text.h"
#include "penstock/trials.h"
#include "report/csv.h"
#include "report/text_table.h"
#include "report/units.h"

namespace penstock {
namespace {

bool any_bytes(const std::vector<Trial>& row) {
  return std::any_of(row.begin(), row.end(),
                     [](const Trial& trial) { return trial.peak_bytes > 0; });
}

constexpr int kColumns = 80;  // --csv and --json say it all

// What each schedule says to the sizes that it refuses, once.
std::string refusals(const Trials& trials) {
  std::string text;
  for (std::size_t i = 0; i < trials.schedules.size(); ++i) {
    for (std::size_t m = 0; m < trials.microbatches.size(); ++m) {
      const std::string& refused = trials.results[m][i].refused;
      if (refused.empty()) continue;
      text += cut(fmt::format("- {} at m = {}: {}", trials.schedules[i], trials.microbatches[m],
                              refused),
                  kColumns) +
              "\n";
      break;
    }
  }
  return text;
}

std::string one_size(const Trials& trials) {
  const std::vector<Trial>& row = trials.results.front();
  const bool bytes = any_bytes(row);
  std::vector<std::string> header = {"schedule",  "step",    "bubble",  "(span)",
                                     "in flight", "weights", "messages"};
  if (bytes) header.emplace_back("memory");
  TextTable table(header);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Trial& trial = row[i];
    if (!trial.refused.empty()) {
      table.add({trials.schedules[i], "-", "-", "-", "-", "-", "-"});
      continue;
    }
    std::vector<std::string> cells = {trials.schedules[i],
                                      fmt::format("{:.3f} ms", to_ms(trial.makespan)),
                                      fmt::format("{:.2f} %", 100 * trial.bubble_ratio),
                                      fmt::format("{:.2f} %", 100 * trial.bubble_ratio_span),
                                      show_number(trial.peak_in_flight),
                                      fmt::format("{}x", show_number(trial.weight_copies)),
                                      std::to_string(trial.messages)};
    if (bytes) cells.push_back(show_bytes(trial.peak_bytes));
    table.add(std::move(cells));
  }
  return table.text() + refusals(trials);
}

// The least bubble of a line is marked: the schedules there do the same work.
std::vector<std::string> bubbles(const Trials& trials, std::size_t m) {
  const std::vector<Trial>& row = trials.results[m];
  std::optional<Nanoseconds> least;
  for (const Trial& trial : row) {
    if (trial.refused.empty()) least = std::min(least.value_or(trial.makespan), trial.makespan);
  }
  std::vector<std::string> cells = {std::to_string(trials.microbatches[m])};
  for (const Trial& trial : row) {
    cells.push_back(!trial.refused.empty()
                        ? "-"
                        : fmt::format("{}{:.2f} %", trial.makespan == least ? "*" : "",
                                      100 * trial.bubble_ratio));
  }
  return cells;
}

std::string several_sizes(const Trials& trials) {
  std::vector<std::string> header = {"bubble at m ="};
  header.insert(header.end(), trials.schedules.begin(), trials.schedules.end());
  TextTable table(header);
  for (std::size_t m = 0; m < trials.microbatches.size(); ++m) table.add(bubbles(trials, m));
  std::string text = table.text() + "* shortest step of the line, whatever its bubble\n";
  text += refusals(trials);
  const std::vector<Overtaking> found = overtakings(trials);
  text += found.empty() ? "\nnone overtakes another\n" : "\n";
  for (const Overtaking& one : found) {
    text += fmt::format("{} overtakes {} at m = {}\n", trials.schedules[one.winner],
                        trials.schedules[one.loser], one.microbatches);
  }
  return text;
}

}  // namespace

std::string trials_table(const Trials& trials) {
  return trials.microbatches.size() == 1 ? one_size(trials) : several_sizes(trials);
}

std::string trials_csv(const Trials& trials) {
  std::string out =
      "microbatches,schedule,makespan_s,bubble_ratio,bubble_ratio_span,peak_in_flight,peak_bytes,"
      "weight_copies,messages,message_bytes,refused\n";
  for (std::size_t m = 0; m < trials.microbatches.size(); ++m) {
    for (std::size_t i = 0; i < trials.schedules.size(); ++i) {
      const Trial& trial = trials.results[m][i];
      append(out, "{},{},", trials.microbatches[m], csv_cell(trials.schedules[i]));
      if (trial.refused.empty()) {
        append(out, "{},{},{},{},{},{},{},{},\n", to_s(trial.makespan), trial.bubble_ratio,
               trial.bubble_ratio_span, trial.peak_in_flight,
               trial.peak_bytes > 0 ? std::to_string(trial.peak_bytes) : "", trial.weight_copies,
               trial.messages, trial.message_bytes);
      } else {
        append(out, ",,,,,,,,{}\n", csv_cell(trial.refused));
      }
    }
  }
  return out;
}

nlohmann::ordered_json trials_json(const Trials& trials) {
  using Json = nlohmann::ordered_json;
  Json json = {{"trials", Json::array()}, {"overtakings", Json::array()}};
  for (std::size_t m = 0; m < trials.microbatches.size(); ++m) {
    for (std::size_t i = 0; i < trials.schedules.size(); ++i) {
      const Trial& trial = trials.results[m][i];
      const bool ran = trial.refused.empty();
      const auto known = [ran](auto value) { return ran ? Json(value) : Json(nullptr); };
      json["trials"].push_back(
          {{"microbatches", trials.microbatches[m]},
           {"schedule", trials.schedules[i]},
           {"makespan_s", known(to_s(trial.makespan))},
           {"bubble_ratio", known(trial.bubble_ratio)},
           {"bubble_ratio_span", known(trial.bubble_ratio_span)},
           {"peak_in_flight", known(trial.peak_in_flight)},
           {"peak_bytes", trial.peak_bytes > 0 ? Json(trial.peak_bytes) : Json(nullptr)},
           {"weight_copies", known(trial.weight_copies)},
           {"messages", known(trial.messages)},
           {"message_bytes", known(trial.message_bytes)},
           {"refused", ran ? Json(nullptr) : Json(trial.refused)}});
    }
  }
  for (const Overtaking& one : overtakings(trials)) {
    json["overtakings"].push_back({{"winner", trials.schedules[one.winner]},
                                   {"loser", trials.schedules[one.loser]},
                                   {"microbatches", one.microbatches}});
  }
  return json;
}

}  // namespace penstock
