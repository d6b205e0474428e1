#include "model/kernels/norms.h"

#include <cmath>

#include "model/kernels/clones.h"
#include "model/kernels/sums.h"

namespace penstock {

namespace {

template <class T>
PENSTOCK_INLINE void layer_norm_rows(Matrix<const T> x, const T* weight, const T* bias, T epsilon,
                                     Matrix<T> y, T* statistics) {
  const int n = x.columns;
  for (int r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    T* out = y.row(r);
    const T mean = lane_sum<T>(n, [=](int i) { return in[i]; }) / T(n);
    const T variance =
        lane_sum<T>(n, [=](int i) { return (in[i] - mean) * (in[i] - mean); }) / T(n);
    const T rstd = T(1) / std::sqrt(variance + epsilon);
    for (int i = 0; i < n; ++i) out[i] = (in[i] - mean) * rstd * weight[i] + bias[i];
    statistics[2 * r] = mean;
    statistics[2 * r + 1] = rstd;
  }
}

template <class T>
PENSTOCK_INLINE void rms_norm_rows(Matrix<const T> x, const T* weight, T epsilon, Matrix<T> y,
                                   T* statistics) {
  const int n = x.columns;
  for (int r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    T* out = y.row(r);
    const T square = lane_sum<T>(n, [=](int i) { return in[i] * in[i]; }) / T(n);
    const T rstd = T(1) / std::sqrt(square + epsilon);
    for (int i = 0; i < n; ++i) out[i] = in[i] * rstd * weight[i];
    statistics[2 * r] = 0;
    statistics[2 * r + 1] = rstd;
  }
}

// With g = dy weight and x^ = (x - mean) rstd:
//   dx = rstd (g - mean(g) - x^ mean(g x^)); RMSNorm lacks the mean(g) term.
template <class T, bool kCentred>
PENSTOCK_INLINE void norm_backward_rows(Matrix<const T> x, const T* statistics, const T* weight,
                                        Matrix<const T> dy, Matrix<const T> residual,
                                        Matrix<T> dx) {
  const int n = x.columns;
  for (int r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    const T* given = dy.row(r);
    T* out = dx.row(r);
    const T mean = statistics[2 * r];
    const T rstd = statistics[2 * r + 1];
    const T mean_g =
        kCentred ? lane_sum<T>(n, [=](int i) { return given[i] * weight[i]; }) / T(n) : T(0);
    const T mean_gx =
        lane_sum<T>(n, [=](int i) { return given[i] * weight[i] * ((in[i] - mean) * rstd); }) /
        T(n);
    const auto gradient = [=](int i) {
      return rstd * (given[i] * weight[i] - mean_g - (in[i] - mean) * rstd * mean_gx);
    };
    if (residual.data == nullptr) {
      for (int i = 0; i < n; ++i) out[i] = gradient(i);
    } else {
      const T* around = residual.row(r);
      for (int i = 0; i < n; ++i) out[i] = around[i] + gradient(i);
    }
  }
}

template <class T>
PENSTOCK_INLINE void norm_weight_rows(Matrix<const T> x, const T* statistics, Matrix<const T> dy,
                                      T* dweight) {
  const int n = x.columns;
  for (int r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    const T* given = dy.row(r);
    const T mean = statistics[2 * r];
    const T rstd = statistics[2 * r + 1];
    for (int i = 0; i < n; ++i) dweight[i] += given[i] * ((in[i] - mean) * rstd);
  }
}

}  // namespace

PENSTOCK_CLONES void layer_norm(Matrix<const float> x, const float* weight, const float* bias,
                                float epsilon, Matrix<float> y, float* statistics) {
  layer_norm_rows(x, weight, bias, epsilon, y, statistics);
}

void layer_norm(Matrix<const double> x, const double* weight, const double* bias, double epsilon,
                Matrix<double> y, double* statistics) {
  layer_norm_rows(x, weight, bias, epsilon, y, statistics);
}

PENSTOCK_CLONES void rms_norm(Matrix<const float> x, const float* weight, float epsilon,
                              Matrix<float> y, float* statistics) {
  rms_norm_rows(x, weight, epsilon, y, statistics);
}

void rms_norm(Matrix<const double> x, const double* weight, double epsilon, Matrix<double> y,
              double* statistics) {
  rms_norm_rows(x, weight, epsilon, y, statistics);
}

PENSTOCK_CLONES void layer_norm_backward_input(Matrix<const float> x, const float* statistics,
                                               const float* weight, Matrix<const float> dy,
                                               Matrix<const float> residual, Matrix<float> dx) {
  norm_backward_rows<float, true>(x, statistics, weight, dy, residual, dx);
}

void layer_norm_backward_input(Matrix<const double> x, const double* statistics,
                               const double* weight, Matrix<const double> dy,
                               Matrix<const double> residual, Matrix<double> dx) {
  norm_backward_rows<double, true>(x, statistics, weight, dy, residual, dx);
}

PENSTOCK_CLONES void rms_norm_backward_input(Matrix<const float> x, const float* statistics,
                                             const float* weight, Matrix<const float> dy,
                                             Matrix<const float> residual, Matrix<float> dx) {
  norm_backward_rows<float, false>(x, statistics, weight, dy, residual, dx);
}

void rms_norm_backward_input(Matrix<const double> x, const double* statistics, const double* weight,
                             Matrix<const double> dy, Matrix<const double> residual,
                             Matrix<double> dx) {
  norm_backward_rows<double, false>(x, statistics, weight, dy, residual, dx);
}

PENSTOCK_CLONES void norm_backward_weight(Matrix<const float> x, const float* statistics,
                                          Matrix<const float> dy, float* dweight) {
  norm_weight_rows(x, statistics, dy, dweight);
}

void norm_backward_weight(Matrix<const double> x, const double* statistics, Matrix<const double> dy,
                          double* dweight) {
  norm_weight_rows(x, statistics, dy, dweight);
}

}  // namespace penstock
