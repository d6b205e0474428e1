#include "model/kernels/rotary.h"

#include <cstddef>

#include "model/kernels/clones.h"

namespace penstock {

namespace {

template <class T>
PENSTOCK_INLINE void rotate_rows(Matrix<T> x, int heads, int tokens, const T* table, Turn turn) {
  const int head_size = x.columns / heads;
  const int half = head_size / 2;
  const T sign = turn == Turn::Forward ? T(1) : T(-1);
  for (int r = 0; r < x.rows; ++r) {
    const T* cosine = table + static_cast<std::ptrdiff_t>(r % tokens) * head_size;
    const T* sine = cosine + half;
    for (int head = 0; head < heads; ++head) {
      T* left = x.row(r) + head * head_size;
      T* right = left + half;
      for (int i = 0; i < half; ++i) {
        const T a = left[i];
        const T b = right[i];
        left[i] = a * cosine[i] - sign * b * sine[i];
        right[i] = b * cosine[i] + sign * a * sine[i];
      }
    }
  }
}

}  // namespace

PENSTOCK_CLONES void rotate(Matrix<float> x, int heads, int tokens, const float* table, Turn turn) {
  rotate_rows(x, heads, tokens, table, turn);
}

void rotate(Matrix<double> x, int heads, int tokens, const double* table, Turn turn) {
  rotate_rows(x, heads, tokens, table, turn);
}

}  // namespace penstock
