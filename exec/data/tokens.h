// File: tokens.h. The training data: a long row of tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/mapped_file.h"
#include "data/token_layout.h"
#include "penstock/experiment.h"

namespace penstock {

class Tokens {
 public:
  Tokens(std::string where, MappedFile file, TokenLayout layout);
  Tokens(std::string where, std::vector<std::byte> bytes);  // one token per byte

  const std::string& where() const { return where_; }
  std::int64_t count() const { return static_cast<std::int64_t>(layout_.count); }
  // REQUIRES: 0 <= index < count(). Unchecked against the vocabulary; negative for a broken file.
  std::int64_t at(std::int64_t index) const;

 private:
  std::span<const std::byte> bytes() const { return text_.empty() ? file_.bytes() : text_; }

  std::string where_;
  MappedFile file_;
  std::vector<std::byte> text_;
  TokenLayout layout_;
};

// Opens train.data by content: a directory is all its regular files (links skipped, names sorted)
// as one text; llm.c's magic; Megatron's pair when an .idx lies beside the .bin; token_bytes given:
// headerless; another .bin is refused; anything else is text, a byte a token. No data: the licence
// texts of this machine. Throws Error with place and hint.
Tokens open_tokens(const TrainSettings& train);

// The tokens cut into windows of `sequence` + 1 tokens that do not overlap: inputs and, one token
// further, targets. Window j of step t is (t * global + j) mod windows.
class Windows {
 public:
  // Throws Error when there is not even one window.
  Windows(Tokens tokens, std::int32_t sequence);

  std::int64_t count() const { return count_; }
  std::int64_t index(std::int64_t step, std::int32_t global, std::int64_t sample) const {
    return (step * global + sample) % count_;
  }
  // sequence + 1 tokens.
  void read(std::int64_t window, std::span<std::int32_t> tokens) const;
  // Throws Error for the first token among the first `windows` windows that is not below
  // `vocabulary`.
  void check(std::int64_t windows, std::int32_t vocabulary) const;

 private:
  Tokens tokens_;
  std::int64_t length_;
  std::int64_t count_;
};

}  // namespace penstock
