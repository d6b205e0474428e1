#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"
#include "install.h"
#include "json_output.h"
#include "penstock/files.h"
#include "penstock/generate.h"
#include "penstock/model.h"
#include "penstock/nearest.h"
#include "search_input.h"
#include "verbs.h"

namespace penstock {
namespace {

struct Entry {
  std::string name;
  std::string summary;
};

std::vector<Entry> schedules() {
  std::vector<Entry> entries;
  for (const Generator& generator : generators()) {
    std::string summary(generator.summary);
    if (!generator.options.empty()) summary += fmt::format(" [{}]", generator.options);
    entries.push_back({std::string(generator.name), std::move(summary)});
  }
  entries.push_back(
      {std::string(kSearched), fmt::format("{} [{}]", kSearchedSummary, kSearchedOptions)});
  return entries;
}

// The JSON files below configs/`folder`, by name.
std::vector<Entry> files_in(const std::string& folder) {
  std::vector<Entry> entries;
  const std::filesystem::path root = configs_folder();
  std::error_code missing;
  for (const auto& file : std::filesystem::directory_iterator(root / folder, missing)) {
    if (file.path().extension() != ".json") continue;
    entries.push_back({file.path().stem().string(), file.path().string()});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

// "46.7 B", "124 M", "885 K".
std::string short_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.3g} B", value * 1e-9);
  if (count >= 1'000'000) return fmt::format("{:.3g} M", value * 1e-6);
  return fmt::format("{:.3g} K", value * 1e-3);
}

// "46.7 B parameters (12.9 B active), 32 layers, hidden 4096"
std::string size_of(const Model& model) {
  const std::int64_t all = parameters(model);
  const std::int64_t active = active_parameters(model);
  const std::string part = active < all ? fmt::format(" ({} active)", short_count(active)) : "";
  return fmt::format("{} parameters{}, {} layers, hidden {}", short_count(all), part, model.layers,
                     model.hidden);
}

std::vector<Entry> models() {
  std::vector<Entry> entries = files_in("models");
  for (Entry& entry : entries) {
    const std::string path = entry.summary;
    entry.summary = fmt::format("{} [{}]", size_of(read_model(read_file(path), path)), path);
  }
  return entries;
}

std::vector<Entry> experiments() {
  std::vector<Entry> entries = files_in("experiments");
  for (Entry& entry : files_in("training")) entries.push_back(std::move(entry));
  return entries;
}

std::vector<Entry> entries_of(const std::string& kind) {
  if (kind == "schedules") return schedules();
  if (kind == "models") return models();
  if (kind == "clusters") return files_in("clusters");
  if (kind == "configs") return experiments();
  constexpr std::string_view kKinds[] = {"schedules", "models", "clusters", "configs"};
  throw UsageError(
      fmt::format("nothing to list called '{}'; {}", kind, did_you_mean(kind, kKinds)));
}

// "name  summary [options]", the options on a line of their own where they do not fit.
std::string line_of(const Entry& entry, std::size_t width) {
  std::string line = fmt::format("{:<{}}  {}", entry.name, width, entry.summary);
  constexpr std::size_t kColumns = 80;
  const std::size_t options = line.rfind(" [");
  if (line.size() > kColumns && options != std::string::npos) {
    line.replace(options, 1, "\n" + std::string(width + 2, ' '));
  }
  return line;
}

}  // namespace

int run_list(const Arguments& arguments) {
  const std::vector<Entry> entries = entries_of(arguments.positional()[0]);
  if (arguments.has("json")) {
    auto json = nlohmann::ordered_json::array();
    for (const Entry& entry : entries)
      json.push_back({{"name", entry.name}, {"summary", entry.summary}});
    say(json_text(json));
    return 0;
  }
  if (entries.empty()) complain(fmt::format("there are no {} yet", arguments.positional()[0]));
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.name.size());
  for (const Entry& entry : entries) say(line_of(entry, width) + "\n");
  return 0;
}

}  // namespace penstock
