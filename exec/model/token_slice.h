// File: token_slice.h. Which tokens of its sequences a microbatch takes through the layers at once.
#pragma once

namespace penstock {

// Tokens [first, end()) of each of `sequences` sequences; rows go sequence by sequence. Unsliced:
// first 0, and all tokens.
struct TokenSlice {
  int sequences = 0;
  int first = 0;   // position in the sequence
  int tokens = 0;  // of each sequence
  int rows() const { return sequences * tokens; }
  int end() const { return first + tokens; }
};

}  // namespace penstock
