// The table of families. A new one: an enumerator in model.h, a file here, a row below.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "models/config_keys.h"
#include "models/family.h"
#include "penstock/nearest.h"

namespace penstock {
namespace {

const FamilyRow* const kFamilies[] = {&kGpt2,  &kLlama,   &kMistral,  &kQwen2,
                                      &kQwen3, &kMixtral, &kQwen3Moe, &kDeepseekV3};

void refuse_type(const JsonReader& root, const std::string& type) {
  const std::vector<std::string_view> known = model_types();
  const std::string close = nearest(type, known);
  const std::string guess = close.empty() ? "" : fmt::format("did you mean '{}'? ", close);
  root.at("model_type")
      .problem(fmt::format("model_type '{}' is not supported", type),
               fmt::format("{}known: {}", guess, fmt::join(known, ", ")));
}

}  // namespace

const FamilyRow& family_row(Family family) {
  return *kFamilies[static_cast<std::size_t>(family)];
}

std::vector<std::string_view> model_types() {
  std::vector<std::string_view> types;
  for (const FamilyRow* row : kFamilies) types.push_back(row->model_type);
  return types;
}

Model read_model(std::string_view json, const std::string& where) {
  std::vector<Problem> problems;
  const nlohmann::json document = parse_json(json, where);
  const JsonReader root(document, where, problems);
  Model model;
  if (root.is_object()) {
    const std::string type = root.text("model_type", {}, true);
    const auto row = std::ranges::find(kFamilies, type, &FamilyRow::model_type);
    if (row != std::end(kFamilies)) {
      model = (*row)->read(root);
      refuse_changed_maths(root, model);
    } else if (root.has("model_type") && root.at("model_type").value().is_string()) {
      refuse_type(root, type);
    }
  }
  if (!problems.empty()) throw Error(problems);
  return model;
}

}  // namespace penstock
