// File: rows.h. Sums of rows: biases, residuals, embeddings.
#pragma once

#include <cstdint>
#include <span>

#include "model/matrix.h"

namespace penstock {

// y = residual + bias in every row; either may be null (zero).
void fill_rows(Matrix<const float> residual, const float* bias, Matrix<float> y);
void fill_rows(Matrix<const double> residual, const double* bias, Matrix<double> y);

// sums[i] += x[r][i], rows in order.
void add_rows(Matrix<const float> x, float* sums);
void add_rows(Matrix<const double> x, double* sums);

// y[r] = token_table[ids[r]] + position_table[r mod tokens]; position_table may be null.
void look_up(std::span<const std::int32_t> ids, int tokens, const float* token_table,
             const float* position_table, Matrix<float> y);
void look_up(std::span<const std::int32_t> ids, int tokens, const double* token_table,
             const double* position_table, Matrix<double> y);

// The gradient of look_up: adds the rows of dy to the tables' rows, in order.
void look_up_backward(std::span<const std::int32_t> ids, int tokens, Matrix<const float> dy,
                      float* token_table, float* position_table);
void look_up_backward(std::span<const std::int32_t> ids, int tokens, Matrix<const double> dy,
                      double* token_table, double* position_table);

}  // namespace penstock
