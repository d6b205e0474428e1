// File: activations.h. The MLP's non-linearity, plain or gated.
//
// GeluTanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), GPT-2's "gelu_new"; Gelu: with erf;
// Silu: x / (1 + e^-x). Gated (SwiGLU): act(gate) up.
#pragma once

#include "model/matrix.h"
#include "penstock/model.h"

namespace penstock {

// y = act(x). dx = dy act'(x); dx may be dy.
void activate(Activation kind, Matrix<const float> x, Matrix<float> y);
void activate(Activation kind, Matrix<const double> x, Matrix<double> y);
void activate_backward(Activation kind, Matrix<const float> x, Matrix<const float> dy,
                       Matrix<float> dx);
void activate_backward(Activation kind, Matrix<const double> x, Matrix<const double> dy,
                       Matrix<double> dx);

// `x` holds the gate in its left and up in its right half, 2 y.columns wide; so does dx.
void activate_gated(Activation kind, Matrix<const float> x, Matrix<float> y);
void activate_gated(Activation kind, Matrix<const double> x, Matrix<double> y);
void activate_gated_backward(Activation kind, Matrix<const float> x, Matrix<const float> dy,
                             Matrix<float> dx);
void activate_gated_backward(Activation kind, Matrix<const double> x, Matrix<const double> dy,
                             Matrix<double> dx);

}  // namespace penstock
