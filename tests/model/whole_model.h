// File: whole_model.h. A model as one part, with everything that one microbatch needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gradient_check.h"
#include "model/part.h"

namespace penstock::testing {

template <class T>
class WholeModel {
 public:
  // Random values everywhere (norm weights around 1), random tokens; in slices when asked for. With
  // a local head all but the model's own.
  WholeModel(const Model& model, int sequences, int tokens, std::vector<int> slice_tokens = {},
             std::optional<AuxHead> local_head = {})
      : sequences_(sequences),
        tokens_(tokens),
        slices_(cut(sequences, tokens, slice_tokens)),
        blocks_{0, model.layers + (local_head ? 1 : 2)},
        parameters_(model, blocks_,
                    local_head ? local_head_tensors(model, *local_head, model.layers)
                               : std::vector<ModelTensor>()),
        part_(model, blocks_, tokens, slices_, T(1) / T(sequences * tokens), parameters_,
              {.local_head = local_head}) {
    for (const PartTensor& tensor : parameters_.tensors()) {
      const bool norm = tensor.info.shape.size() == 1 && tensor.info.name.ends_with("weight");
      const auto random = normal_values(tensor.size(), tensor.info.name, 0.3);
      const std::span<T> values = parameters_.values(tensor);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<T>(random[i] + (norm ? 1 : 0));
      }
    }
    runs_.resize(slices_.size());
    for (std::size_t s = 0; s < slices_.size(); ++s) prepare(s, model.vocabulary);
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      kept_.push_back(&runs_[s].kept);
      gathered_.push_back(&runs_[s].gradients);
    }
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      runs_[s].input.earlier_kept = std::span(kept_).first(s);
      runs_[s].input.earlier_gradients = std::span(gathered_).first(s);
    }
  }
  WholeModel(const WholeModel&) = delete;

  Parameters<T>& parameters() { return parameters_; }

  // Mean over the tokens.
  double loss() {
    double sum = 0;
    for (Run& run : runs_) sum += part_.forward(run.input, run.kept, {});
    return sum / (sequences_ * tokens_);
  }
  void backward() {
    for (std::size_t s = runs_.size(); s-- > 0;) {
      part_.backward_input(runs_[s].input, runs_[s].kept, runs_[s].gradients, {}, {});
    }
    for (Run& run : runs_) {
      part_.backward_loss_weight(run.input, run.kept, run.gradients);
      part_.backward_weight(run.input, run.kept, run.gradients);
    }
    parameters_.fold_tied();
  }

 private:
  // One slice with its buffers.
  struct Run {
    AlignedVector<T> kept_buffer, gradient_buffer;
    PartKept<T> kept;
    PartGradients<T> gradients;
    std::vector<std::int32_t> ids, targets;
    PartInput<T> input;
  };

  static std::vector<TokenSlice> cut(int sequences, int tokens, std::vector<int> slice_tokens) {
    if (slice_tokens.empty()) slice_tokens = {tokens};
    std::vector<TokenSlice> slices;
    int first = 0;
    for (const int each : slice_tokens) {
      slices.push_back({.sequences = sequences, .first = first, .tokens = each});
      first += each;
    }
    return slices;
  }

  // The same tokens however they are cut.
  void prepare(std::size_t s, std::int32_t vocabulary) {
    Run& run = runs_[s];
    const TokenSlice& slice = slices_[s];
    run.kept_buffer.resize(part_.kept_values(slice).lasting);
    run.gradient_buffer.resize(part_.gradient_values(slice));
    part_.carve_kept(run.kept_buffer.data(), nullptr, slice, run.kept);
    part_.carve_gradients(run.gradient_buffer.data(), slice, run.gradients);
    for (int sequence = 0; sequence < sequences_; ++sequence) {
      for (int token = slice.first; token < slice.end(); ++token) {
        const int i = sequence * tokens_ + token;
        run.ids.push_back((i * 7 + 3) % vocabulary);
        run.targets.push_back((i * 5 + 11) % vocabulary);
      }
    }
    run.input = {.slice = slice,
                 .ids = run.ids,
                 .targets = run.targets,
                 .x = {},
                 .earlier_kept = {},
                 .earlier_gradients = {}};
  }

  int sequences_;
  int tokens_;
  std::vector<TokenSlice> slices_;
  BlockRange blocks_;
  Parameters<T> parameters_;
  Part<T> part_;
  std::vector<Run> runs_;
  std::vector<const PartKept<T>*> kept_;
  std::vector<const PartGradients<T>*> gathered_;
};

}  // namespace penstock::testing
