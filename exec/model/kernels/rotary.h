// File: rotary.h. Rotary position embedding, in Hugging Face Llama's pairing: value i of a head is
// turned together with value i + head_size / 2.
#pragma once

#include "model/matrix.h"

namespace penstock {

enum class Turn : bool { Forward, Back };

// Turns `heads` heads side by side in the columns of `x`, in place. Row r is position r mod tokens;
// `table` holds, per position, head_size / 2 cosines and as many sines. Back is the inverse, which
// is also the gradient.
void rotate(Matrix<float> x, int heads, int tokens, const float* table, Turn turn);
void rotate(Matrix<double> x, int heads, int tokens, const double* table, Turn turn);

}  // namespace penstock
