// File: softmax.h. Softmax over causal attention scores, and softmax with cross-entropy.
#pragma once

#include <cstdint>
#include <span>

#include "model/matrix.h"

namespace penstock {

// In place. The rows are the last tokens of as many as there are columns: row t becomes the softmax
// of its first (columns - rows) + t + 1 values, the rest zero.
void causal_softmax(Matrix<float> scores);
void causal_softmax(Matrix<double> scores);

// dp (gradient of the probabilities) becomes the gradient of the scores times `scale`:
// scale p (dp - sum(p dp)), zero where p is.
void causal_softmax_backward(Matrix<const float> p, float scale, Matrix<float> dp);
void causal_softmax_backward(Matrix<const double> p, double scale, Matrix<double> dp);

// Sum over rows of -log softmax(logits)[target], in double, in row order. The logits become their
// own gradient, times `scale`: scale (softmax - [i == target]). REQUIRES: targets in range.
double cross_entropy(Matrix<float> logits, std::span<const std::int32_t> targets, float scale);
double cross_entropy(Matrix<double> logits, std::span<const std::int32_t> targets, double scale);

}  // namespace penstock
