#include "estimate/compute_time.h"

#include <algorithm>

namespace penstock {
namespace {

// Routers decide in more digits, and a head's logits are the loss: neither is cut down to fp8.
bool is_of_layers(ProductUse use) {
  return use != ProductUse::Router && use != ProductUse::Head;
}

Work work_of(Pass pass) {
  switch (pass) {
    case Pass::Forward:
      return Work::Forward;
    case Pass::InputGradient:
      return Work::InputGradient;
    case Pass::WeightGradient:
      return Work::WeightGradient;
  }
  return Work::Forward;
}

}  // namespace

Arithmetic arithmetic_elsewhere(Precision precision) {
  if (precision == Precision::Fp32) return Arithmetic::Fp32;
  return precision == Precision::Fp16 ? Arithmetic::Fp16 : Arithmetic::Bf16;
}

Arithmetic matrix_arithmetic(Precision precision) {
  return precision == Precision::Fp8 ? Arithmetic::Fp8 : arithmetic_elsewhere(precision);
}

double ComputeTime::peak(Arithmetic arithmetic) const {
  return input_.cluster->device.flop_per_s[static_cast<std::size_t>(arithmetic)];
}

double ComputeTime::product(const MatrixProduct& product) const {
  const Precision precision = input_.choice.precision;
  const bool is_low = is_of_layers(product.use) && precision == Precision::Fp8;
  const Arithmetic arithmetic =
      is_low ? matrix_arithmetic(precision) : arithmetic_elsewhere(precision);
  const double flops = product.flops();
  const double fraction = input_.cluster->device.fraction(work_of(product.pass), arithmetic, flops);
  const auto value = static_cast<double>(value_bytes(precision));
  const double read = is_low ? 1 : value;
  // The sum over microbatches is read, and written.
  const double written =
      product.pass == Pass::WeightGradient ? 2.0 * input_.choice.state.gradients : value;
  const auto m = static_cast<double>(product.m);
  const auto n = static_cast<double>(product.n);
  const auto k = static_cast<double>(product.k);
  const double bytes =
      static_cast<double>(product.count) * ((m * k + k * n) * read + m * n * written);
  return std::max(1e9 * flops / (peak(arithmetic) * fraction), memory(bytes));
}

double ComputeTime::attention(double flops) const {
  if (flops == 0) return 0;
  const Arithmetic arithmetic = arithmetic_elsewhere(input_.choice.precision);
  return 1e9 * flops /
         (peak(arithmetic) * input_.cluster->device.fraction(Work::Attention, arithmetic, flops));
}

double ComputeTime::memory(double bytes) const {
  if (bytes == 0) return 0;
  const DeviceType& device = input_.cluster->device;
  const Arithmetic arithmetic = arithmetic_elsewhere(input_.choice.precision);
  return 1e9 * bytes /
         (device.memory_bytes_per_s * device.fraction(Work::Memory, arithmetic, bytes));
}

double ComputeTime::launches(double kernels) const {
  return kernels * static_cast<double>(input_.assumptions.launch);
}

}  // namespace penstock
