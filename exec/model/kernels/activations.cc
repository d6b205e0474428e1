#include "model/kernels/activations.h"

#include <cmath>
#include <numbers>

#include "model/kernels/clones.h"
#include "model/kernels/exponential.h"

namespace penstock {

namespace {

// 0.5 (1 + tanh(u)) = logistic(2 u): no tanh needed.
struct GeluTanhAct {
  template <class T>
  static PENSTOCK_INLINE T gate(T x) {
    constexpr T kTwice = T(2 * 0.79788456080286535588);  // 2 sqrt(2/pi)
    return logistic(kTwice * (x + T(0.044715) * x * x * x));
  }
  template <class T>
  static PENSTOCK_INLINE T value(T x) {
    return x * gate(x);
  }
  template <class T>
  static PENSTOCK_INLINE T slope(T x) {
    constexpr T kTwice = T(2 * 0.79788456080286535588);
    const T s = gate(x);
    return s + x * s * (T(1) - s) * kTwice * (T(1) + T(3 * 0.044715) * x * x);
  }
};

struct GeluAct {
  template <class T>
  static PENSTOCK_INLINE T below(T x) {  // the normal distribution function
    return T(0.5) * (T(1) + std::erf(x * T(std::numbers::sqrt2 / 2)));
  }
  template <class T>
  static PENSTOCK_INLINE T value(T x) {
    return x * below(x);
  }
  template <class T>
  static PENSTOCK_INLINE T slope(T x) {
    constexpr T kDensity = T(0.39894228040143267794);  // 1 / sqrt(2 pi)
    return below(x) + x * kDensity * exponential(T(-0.5) * x * x);
  }
};

struct SiluAct {
  template <class T>
  static PENSTOCK_INLINE T value(T x) {
    return x * logistic(x);
  }
  template <class T>
  static PENSTOCK_INLINE T slope(T x) {
    const T s = logistic(x);
    return s + x * s * (T(1) - s);
  }
};

template <class Act, class T>
PENSTOCK_INLINE void rows(Matrix<const T> x, Matrix<T> y) {
  for (int r = 0; r < y.rows; ++r) {
    const T* in = x.row(r);
    T* out = y.row(r);
    for (int i = 0; i < y.columns; ++i) out[i] = Act::value(in[i]);
  }
}

template <class Act, class T>
PENSTOCK_INLINE void backward_rows(Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx) {
  for (int r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    const T* given = dy.row(r);
    T* out = dx.row(r);
    for (int i = 0; i < x.columns; ++i) out[i] = given[i] * Act::slope(in[i]);
  }
}

template <class Act, class T>
PENSTOCK_INLINE void gated_rows(Matrix<const T> x, Matrix<T> y) {
  for (int r = 0; r < y.rows; ++r) {
    const T* gate = x.row(r);
    const T* up = gate + y.columns;
    T* out = y.row(r);
    for (int i = 0; i < y.columns; ++i) out[i] = Act::value(gate[i]) * up[i];
  }
}

template <class Act, class T>
PENSTOCK_INLINE void gated_backward_rows(Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx) {
  const int n = dy.columns;
  for (int r = 0; r < dy.rows; ++r) {
    const T* gate = x.row(r);
    const T* up = gate + n;
    const T* given = dy.row(r);
    T* dgate = dx.row(r);
    T* dup = dgate + n;
    for (int i = 0; i < n; ++i) {
      dup[i] = given[i] * Act::value(gate[i]);
      dgate[i] = given[i] * up[i] * Act::slope(gate[i]);
    }
  }
}

// Calls run with the kind's formulas as a type, so that the loops inside hold no branch.
template <class Run>
PENSTOCK_INLINE void with_act(Activation kind, Run run) {
  switch (kind) {
    case Activation::GeluTanh:
      return run(GeluTanhAct{});
    case Activation::Gelu:
      return run(GeluAct{});
    case Activation::Silu:
      return run(SiluAct{});
  }
}

}  // namespace

PENSTOCK_CLONES void activate(Activation kind, Matrix<const float> x, Matrix<float> y) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { rows<decltype(act)>(x, y); });
}

void activate(Activation kind, Matrix<const double> x, Matrix<double> y) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { rows<decltype(act)>(x, y); });
}

PENSTOCK_CLONES void activate_backward(Activation kind, Matrix<const float> x,
                                       Matrix<const float> dy, Matrix<float> dx) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { backward_rows<decltype(act)>(x, dy, dx); });
}

void activate_backward(Activation kind, Matrix<const double> x, Matrix<const double> dy,
                       Matrix<double> dx) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { backward_rows<decltype(act)>(x, dy, dx); });
}

PENSTOCK_CLONES void activate_gated(Activation kind, Matrix<const float> x, Matrix<float> y) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { gated_rows<decltype(act)>(x, y); });
}

void activate_gated(Activation kind, Matrix<const double> x, Matrix<double> y) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { gated_rows<decltype(act)>(x, y); });
}

PENSTOCK_CLONES void activate_gated_backward(Activation kind, Matrix<const float> x,
                                             Matrix<const float> dy, Matrix<float> dx) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { gated_backward_rows<decltype(act)>(x, dy, dx); });
}

void activate_gated_backward(Activation kind, Matrix<const double> x, Matrix<const double> dy,
                             Matrix<double> dx) {
  with_act(kind, [=](auto act) PENSTOCK_LAMBDA { gated_backward_rows<decltype(act)>(x, dy, dx); });
}

}  // namespace penstock
