// File: norms.h. Layer normalisation and root-mean-square normalisation, row by row.
//
// LayerNorm: y = (x - mean) rstd weight + bias, rstd = 1 / sqrt(variance + epsilon), the variance
// that of the population. RMSNorm: y = x rstd weight, rstd = 1 / sqrt(mean(x^2) + epsilon).
#pragma once

#include "model/matrix.h"

namespace penstock {

// `statistics` keeps two values per row for the backward: mean (0 for RMSNorm) and rstd.
void layer_norm(Matrix<const float> x, const float* weight, const float* bias, float epsilon,
                Matrix<float> y, float* statistics);
void layer_norm(Matrix<const double> x, const double* weight, const double* bias, double epsilon,
                Matrix<double> y, double* statistics);
void rms_norm(Matrix<const float> x, const float* weight, float epsilon, Matrix<float> y,
              float* statistics);
void rms_norm(Matrix<const double> x, const double* weight, double epsilon, Matrix<double> y,
              double* statistics);

// dx = the norm's input gradient, plus `residual` where given: the gradient that went round the
// norm. dx may be residual.
void layer_norm_backward_input(Matrix<const float> x, const float* statistics, const float* weight,
                               Matrix<const float> dy, Matrix<const float> residual,
                               Matrix<float> dx);
void layer_norm_backward_input(Matrix<const double> x, const double* statistics,
                               const double* weight, Matrix<const double> dy,
                               Matrix<const double> residual, Matrix<double> dx);
void rms_norm_backward_input(Matrix<const float> x, const float* statistics, const float* weight,
                             Matrix<const float> dy, Matrix<const float> residual,
                             Matrix<float> dx);
void rms_norm_backward_input(Matrix<const double> x, const double* statistics, const double* weight,
                             Matrix<const double> dy, Matrix<const double> residual,
                             Matrix<double> dx);

// dweight += sum over rows of dy (x - mean) rstd: the same for both norms.
void norm_backward_weight(Matrix<const float> x, const float* statistics, Matrix<const float> dy,
                          float* dweight);
void norm_backward_weight(Matrix<const double> x, const double* statistics, Matrix<const double> dy,
                          double* dweight);

}  // namespace penstock
