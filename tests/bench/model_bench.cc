// Training maths on one core: passes through one transformer layer, beside the same layer's matrix
// products alone (what element-wise kernels cost is the difference), and each kernel by itself.
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

#include "model/kernels/activations.h"
#include "model/kernels/norms.h"
#include "model/kernels/softmax.h"
#include "model/part.h"
#include "optimizer/adamw.h"

namespace penstock {
namespace {

struct Shape {
  Model model;
  int tokens;
};

// configs/models/tiny-gpt.json and timing-gpt.json, one sequence per microbatch.
Shape shape(std::int64_t number) {
  const bool tiny = number == 0;
  Model model;
  model.layers = 1;
  model.hidden = tiny ? 64 : 320;
  model.heads = model.kv_heads = tiny ? 4 : 5;
  model.head_size = model.hidden / model.heads;
  model.ffn = 4 * model.hidden;
  model.vocabulary = 256;
  model.max_positions = tiny ? 64 : 256;
  return {model, model.max_positions};
}

// One transformer layer with its buffers; every value is 0.1 so that no number is special.
class Layer {
 public:
  explicit Layer(const Shape& shape)
      : slice{.sequences = 1, .first = 0, .tokens = shape.tokens},
        rows(shape.tokens),
        hidden(shape.model.hidden),
        parameters(shape.model, {1, 2}),
        part(shape.model, {1, 2}, shape.tokens, std::span(&slice, 1), 1.0f, parameters),
        kept_buffer(part.kept_values(slice).lasting, 0.1f),
        gradient_buffer(part.gradient_values(slice), 0.1f),
        x(static_cast<std::size_t>(rows * hidden)),
        y(x.size()) {
    for (std::size_t i = 0; i < parameters.values().size(); ++i) {
      parameters.values()[i] = 0.02f * static_cast<float>(i % 11) - 0.1f;
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6.0f;
    part.carve_kept(kept_buffer.data(), nullptr, slice, kept);
    part.carve_gradients(gradient_buffer.data(), slice, gradients);
    input = {.slice = slice,
             .ids = {},
             .targets = {},
             .x = Matrix<const float>(x.data(), rows, hidden),
             .earlier_kept = {},
             .earlier_gradients = {}};
  }
  Matrix<float> output() { return {y.data(), rows, hidden}; }

  TokenSlice slice;
  int rows;
  int hidden;
  Parameters<float> parameters;
  Part<float> part;
  AlignedVector<float> kept_buffer, gradient_buffer, x, y;
  PartKept<float> kept;
  PartGradients<float> gradients;
  PartInput<float> input;
};

// Floating-point operations of the products of one forward: 4 projections (12 h^2 weights), and
// scores and values of the attention, the masked half included since it is computed.
double forward_flops(const Shape& shape) {
  const double h = shape.model.hidden, s = shape.tokens;
  return 2 * s * 12 * h * h + 4 * s * s * h;
}

void count(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void forward(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Layer layer(sizes);
  for (auto _ : state) layer.part.forward(layer.input, layer.kept, layer.output());
  count(state, forward_flops(sizes));
}

void backward_input(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Layer layer(sizes);
  layer.part.forward(layer.input, layer.kept, layer.output());
  AlignedVector<float> dx(layer.x.size());
  for (auto _ : state) {
    layer.part.backward_input(layer.input, layer.kept, layer.gradients, layer.output(),
                              Matrix<float>(dx.data(), layer.rows, layer.hidden));
  }
  const double s = sizes.tokens;
  count(state, forward_flops(sizes) + 4 * s * s * sizes.model.hidden);
}

void backward_weight(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Layer layer(sizes);
  layer.part.forward(layer.input, layer.kept, layer.output());
  for (auto _ : state) {
    layer.part.backward_weight(layer.input, layer.kept, layer.gradients);
  }
  const double h = sizes.model.hidden;
  count(state, 2 * sizes.tokens * 12 * h * h);
}

// The products of `forward` and nothing else.
void forward_products(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  const Model& model = sizes.model;
  const int s = sizes.tokens, h = model.hidden, d = model.head_size;
  AlignedVector<float> a(static_cast<std::size_t>(4 * s * h), 0.1f),
      b(static_cast<std::size_t>(4 * h * h), 0.1f), c(static_cast<std::size_t>(4 * s * h)),
      p(static_cast<std::size_t>(s * s), 0.1f);
  const auto project = [&](int in, int out) {
    gemm(Matrix<const float>(a.data(), s, in), Transpose::No,
         Matrix<const float>(b.data(), in, out), Transpose::No, Matrix<float>(c.data(), s, out),
         Accumulate::No);
  };
  for (auto _ : state) {
    project(h, 3 * h);
    for (int head = 0; head < model.heads; ++head) {
      const Matrix<const float> q(a.data(), s, d, 3 * h);
      gemm(q, Transpose::No, q, Transpose::Yes, Matrix<float>(p.data(), s, s), Accumulate::No);
      gemm(Matrix<const float>(p.data(), s, s), Transpose::No, q, Transpose::No,
           Matrix<float>(c.data(), s, d, h), Accumulate::No);
    }
    project(h, h);
    project(h, 4 * h);
    project(4 * h, h);
  }
  count(state, forward_flops(sizes));
}

void update(benchmark::State& state) {
  Layer layer(shape(state.range(0)));
  const std::size_t n = layer.parameters.values().size();
  AlignedVector<float> m(n), v(n);
  for (auto _ : state) {
    adamw({.values = layer.parameters.values(),
           .gradients = layer.parameters.gradients(),
           .first_moment = m,
           .second_moment = v,
           .decayed = true},
          {}, {.step = 1, .learning_rate = 1e-3});
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(n) * 28);
}

// Kernels over one microbatch of the shape: values per second.
struct Values {
  explicit Values(const Shape& shape, int width)
      : rows(shape.tokens), width(width), x(static_cast<std::size_t>(rows * width)), y(x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.3f * (static_cast<float>(i % 17) - 8.0f);
  }
  Matrix<const float> in() const { return {x.data(), rows, width}; }
  Matrix<float> out() { return {y.data(), rows, width}; }
  int rows, width;
  AlignedVector<float> x, y;
};

void gelu_kernel(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Values values(sizes, sizes.model.ffn);
  for (auto _ : state) activate(Activation::GeluTanh, values.in(), values.out());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.x.size()));
}

void gelu_backward_kernel(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Values values(sizes, sizes.model.ffn);
  for (auto _ : state) {
    activate_backward(Activation::GeluTanh, values.in(), values.in(), values.out());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.x.size()));
}

void layer_norm_kernel(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Values values(sizes, sizes.model.hidden);
  std::vector<float> weight(static_cast<std::size_t>(values.width), 1.0f),
      statistics(2 * static_cast<std::size_t>(values.rows));
  for (auto _ : state) {
    layer_norm(values.in(), weight.data(), weight.data(), 1e-5f, values.out(), statistics.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.x.size()));
}

void layer_norm_backward_kernel(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Values values(sizes, sizes.model.hidden);
  std::vector<float> weight(static_cast<std::size_t>(values.width), 1.0f),
      statistics(2 * static_cast<std::size_t>(values.rows));
  for (auto _ : state) {
    layer_norm_backward_input(values.in(), statistics.data(), weight.data(), values.in(),
                              values.in(), values.out());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.x.size()));
}

void causal_softmax_kernel(benchmark::State& state) {
  const Shape sizes = shape(state.range(0));
  Values values(sizes, sizes.tokens);
  for (auto _ : state) causal_softmax(values.out());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.x.size()));
}

void both(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("timing_gpt")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(forward)->Apply(both);
BENCHMARK(forward_products)->Apply(both);
BENCHMARK(backward_input)->Apply(both);
BENCHMARK(backward_weight)->Apply(both);
BENCHMARK(update)->Apply(both);
BENCHMARK(gelu_kernel)->Apply(both);
BENCHMARK(gelu_backward_kernel)->Apply(both);
BENCHMARK(layer_norm_kernel)->Apply(both);
BENCHMARK(layer_norm_backward_kernel)->Apply(both);
BENCHMARK(causal_softmax_kernel)->Apply(both);

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  penstock::use_one_blas_thread();
  benchmark::AddCustomContext("blas", penstock::blas_version() + " " + penstock::blas_core());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
