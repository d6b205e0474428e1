// File: gemm.h. Matrix products, by BLAS on one thread.
#pragma once

#include <string>

#include "model/matrix.h"

namespace penstock {

enum class Transpose : bool { No, Yes };
enum class Accumulate : bool { No, Yes };

// c = alpha a b, or c += alpha a b; a and b transposed as asked. The views' sizes must fit.
void gemm(Matrix<const float> a, Transpose transpose_a, Matrix<const float> b,
          Transpose transpose_b, Matrix<float> c, Accumulate accumulate, float alpha = 1);
void gemm(Matrix<const double> a, Transpose transpose_a, Matrix<const double> b,
          Transpose transpose_b, Matrix<double> c, Accumulate accumulate, double alpha = 1);

// One thread per actor: two would steal the neighbour's core, and sums would depend on the number.
// Process-wide; call before the first product.
void use_one_blas_thread();

// Which kernels run: bits and speed depend on it.
std::string blas_version();  // "OpenBLAS 0.3.21"
std::string blas_core();     // "SkylakeX"

}  // namespace penstock
