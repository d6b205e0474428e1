// File: torch_cell.h. One cell of a torch pipelining table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/op.h"

namespace penstock {

// "3F5": a stage, a word, and for most words a microbatch. `word` points into the cell's text.
struct TorchAction {
  std::int32_t stage = 0;
  std::string_view word;  // "F", "B", "I", "W", "BW", "SEND_F", "UNSHARD", ..
  std::int32_t microbatch = 0;
};

// The actions of a cell: none of a blank, two of "(0F7;7B3)OVERLAP_F_B", else one. nullopt when the
// text is none of these or a number is too large.
std::optional<std::vector<TorchAction>> parse_cell(std::string_view cell);

// The kind of a compute action in the current grammar; nullopt for SEND_F and its like, and for BW.
std::optional<OpKind> compute_kind(std::string_view word);

// The cell with each B made I and each BW made B: the old grammar's words in the current one.
std::string modern_cell(const std::vector<TorchAction>& actions, std::string_view cell);

// "(0F7;7B3)OVERLAP_F_B" of the pair "(0F7;7B3)"; "3F5" of "3F5".
std::string cell_of_entry(const std::string& entry);

}  // namespace penstock
