// File: split.h. Which blocks of the model each part holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/model.h"

namespace penstock {

// The model as a list of blocks: E (embedding), t0 .. t(L-1) (transformer layers), m per
// multi-token prediction module, L (final norm, head and losses). A part is a run of them: part k
// holds blocks [first[k], first[k+1]).
struct Split {
  std::vector<std::int32_t> first;  // parts + 1 entries, first[0] = 0, first[parts] = blocks()
  std::int32_t parts() const { return static_cast<std::int32_t>(first.size()) - 1; }
  bool operator==(const Split&) const = default;
};

// Transformer layers as equal as can be, earlier parts get the remainder; E joins the first part,
// m and L the last. Throws Error, with `where` in front, when there are more parts than layers.
Split even_split(const Model& model, std::int32_t parts, const std::string& where = "split");

// Megatron's pipeline layout string: E embedding, t transformer layer, m multi-token prediction, L
// loss; | separates stages; x*n and (..)*n repeat; commas and spaces are ignored; empty stages are
// allowed.
//   parse_layout("Et*3|(tt|)*5,L", model)   (Megatron-LM, pipeline_model_parallel_layout)
// Throws Error with `where` and the column of every fault: unknown letter, unbalanced bracket,
// wrong number of layers or prediction modules, t behind m, E not first, L not last, more than
// 10,000 stages.
Split parse_layout(std::string_view text, const Model& model, const std::string& where = "layout");

// The inverse for a model with `mtp_depth` prediction modules, for tools that hand a split to
// Megatron and for tests: runs of equal stages are written once. parse_layout(write_layout(s)) ==
// s.
std::string write_layout(const Split& split, std::int32_t mtp_depth = 0);

}  // namespace penstock
