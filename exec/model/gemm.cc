#include "model/gemm.h"

#include <cassert>

#include <cblas.h>
#include <fmt/format.h>

namespace penstock {

namespace {

CBLAS_TRANSPOSE blas(Transpose transpose) {
  return transpose == Transpose::Yes ? CblasTrans : CblasNoTrans;
}

// The length of the sums, after checking that the three shapes fit.
template <class T>
int inner_size([[maybe_unused]] const Matrix<const T>& a, Transpose transpose_a,
               [[maybe_unused]] const Matrix<const T>& b, [[maybe_unused]] Transpose transpose_b,
               [[maybe_unused]] const Matrix<T>& c) {
  const bool turned_a = transpose_a == Transpose::Yes;
  [[maybe_unused]] const bool turned_b = transpose_b == Transpose::Yes;
  const int inner = turned_a ? a.rows : a.columns;
  assert((turned_a ? a.columns : a.rows) == c.rows && "rows of the product");
  assert((turned_b ? b.columns : b.rows) == inner && "inner sizes of the product");
  assert((turned_b ? b.rows : b.columns) == c.columns && "columns of the product");
  return inner;
}

}  // namespace

void gemm(Matrix<const float> a, Transpose transpose_a, Matrix<const float> b,
          Transpose transpose_b, Matrix<float> c, Accumulate accumulate, float alpha) {
  const int inner = inner_size(a, transpose_a, b, transpose_b, c);
  const float beta = accumulate == Accumulate::Yes ? 1 : 0;
  cblas_sgemm(CblasRowMajor, blas(transpose_a), blas(transpose_b), c.rows, c.columns, inner, alpha,
              a.data, a.stride, b.data, b.stride, beta, c.data, c.stride);
}

void gemm(Matrix<const double> a, Transpose transpose_a, Matrix<const double> b,
          Transpose transpose_b, Matrix<double> c, Accumulate accumulate, double alpha) {
  const int inner = inner_size(a, transpose_a, b, transpose_b, c);
  const double beta = accumulate == Accumulate::Yes ? 1 : 0;
  cblas_dgemm(CblasRowMajor, blas(transpose_a), blas(transpose_b), c.rows, c.columns, inner, alpha,
              a.data, a.stride, b.data, b.stride, beta, c.data, c.stride);
}

void use_one_blas_thread() {
  // Actors that are threads of one process all come here: once is enough, and safe.
  static const bool done = (openblas_set_num_threads(1), true);
  static_cast<void>(done);
}

std::string blas_version() {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
  return config.substr(0, config.find(' ', config.find(' ') + 1));
}

std::string blas_core() {
  return openblas_get_corename();
}

}  // namespace penstock
