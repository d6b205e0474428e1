// File: family.h. What Penstock knows about a family of models: one source file each in this
// folder, and one row in the table of families.cc.
#pragma once

#include <string_view>

#include "json_reader.h"
#include "models/tensor_list.h"
#include "penstock/model.h"

namespace penstock {

struct FamilyRow {
  Family family;
  std::string_view model_type;
  // Reads config.json's sizes; reports what is wrong or not supported.
  Model (*read)(const JsonReader& root);
  // The tensors of one block, of which any may be asked for.
  void (*add_block)(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors);
};

// The row of a family, and all of them in the enumeration's order.
const FamilyRow& family_row(Family family);

extern const FamilyRow kGpt2;
extern const FamilyRow kLlama;
extern const FamilyRow kMistral;
extern const FamilyRow kQwen2;
extern const FamilyRow kQwen3;
extern const FamilyRow kMixtral;
extern const FamilyRow kQwen3Moe;
extern const FamilyRow kDeepseekV3;

}  // namespace penstock
