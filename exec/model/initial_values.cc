#include "model/initial_values.h"

#include <algorithm>
#include <cmath>

#include "model/random.h"

namespace penstock {

void fill_initial(const Model& model, const ModelTensor& tensor, std::uint64_t seed,
                  std::span<float> values) {
  if (tensor.shape.size() == 1) {
    std::ranges::fill(values, tensor.name.ends_with("bias") ? 0.0f : 1.0f);
    return;
  }
  double deviation = model.initializer_range;
  if (model.family == Family::Gpt2 && tensor.name.ends_with("c_proj.weight")) {
    deviation /= std::sqrt(2.0 * model.layers);
  }
  const NormalStream stream(seed, tensor.name);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto pair = stream.pair(i / 2);
    values[i] = static_cast<float>(deviation * pair[0]);
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(deviation * pair[1]);
  }
}

}  // namespace penstock
