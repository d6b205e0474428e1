#include "model/kernels/softmax.h"

#include <cmath>

#include "model/kernels/clones.h"
#include "model/kernels/exponential.h"
#include "model/kernels/sums.h"

namespace penstock {

namespace {

// values[i] = e^(values[i] - highest); the sum of them.
template <class T>
PENSTOCK_INLINE T exponentials(int n, T highest, T* values) {
  for (int i = 0; i < n; ++i) values[i] = exponential(values[i] - highest);
  return lane_sum<T>(n, [=](int i) { return values[i]; });
}

template <class T>
PENSTOCK_INLINE void causal_softmax_rows(Matrix<T> scores) {
  for (int r = 0; r < scores.rows; ++r) {
    T* row = scores.row(r);
    const int n = scores.columns - scores.rows + r + 1;
    const T scale = T(1) / exponentials(n, lane_max(n, row), row);
    for (int i = 0; i < n; ++i) row[i] *= scale;
    for (int i = n; i < scores.columns; ++i) row[i] = 0;
  }
}

template <class T>
PENSTOCK_INLINE void causal_softmax_backward_rows(Matrix<const T> p, T scale, Matrix<T> dp) {
  for (int r = 0; r < p.rows; ++r) {
    const T* probability = p.row(r);
    T* gradient = dp.row(r);
    const int n = p.columns - p.rows + r + 1;
    const T mean = lane_sum<T>(n, [=](int i) { return probability[i] * gradient[i]; });
    for (int i = 0; i < n; ++i) gradient[i] = scale * probability[i] * (gradient[i] - mean);
    for (int i = n; i < p.columns; ++i) gradient[i] = 0;
  }
}

template <class T>
PENSTOCK_INLINE double cross_entropy_rows(Matrix<T> logits, std::span<const std::int32_t> targets,
                                          T scale) {
  double loss = 0;
  for (int r = 0; r < logits.rows; ++r) {
    T* row = logits.row(r);
    const int n = logits.columns;
    const T highest = lane_max(n, row);
    const double wanted = static_cast<double>(row[targets[r]]) - static_cast<double>(highest);
    const T sum = exponentials(n, highest, row);
    loss += std::log(static_cast<double>(sum)) - wanted;
    const T factor = scale / sum;
    for (int i = 0; i < n; ++i) row[i] *= factor;
    row[targets[r]] -= scale;
  }
  return loss;
}

}  // namespace

PENSTOCK_CLONES void causal_softmax(Matrix<float> scores) {
  causal_softmax_rows(scores);
}

void causal_softmax(Matrix<double> scores) {
  causal_softmax_rows(scores);
}

PENSTOCK_CLONES void causal_softmax_backward(Matrix<const float> p, float scale, Matrix<float> dp) {
  causal_softmax_backward_rows(p, scale, dp);
}

void causal_softmax_backward(Matrix<const double> p, double scale, Matrix<double> dp) {
  causal_softmax_backward_rows(p, scale, dp);
}

PENSTOCK_CLONES double cross_entropy(Matrix<float> logits, std::span<const std::int32_t> targets,
                                     float scale) {
  return cross_entropy_rows(logits, targets, scale);
}

double cross_entropy(Matrix<double> logits, std::span<const std::int32_t> targets, double scale) {
  return cross_entropy_rows(logits, targets, scale);
}

}  // namespace penstock
