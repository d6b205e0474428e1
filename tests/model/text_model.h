// File: text_model.h. Tiny models and settings that train on this machine's licence texts.
#pragma once

#include "tiny_models.h"
#include "training.h"

namespace penstock::testing {

// Vocabulary of bytes, so that text can be read.
inline Model text_model(Model model) {
  model.vocabulary = 256;
  model.max_positions = 16;
  return model;
}

inline Batch text_batch(std::int32_t global, std::int32_t microbatches) {
  return {.global = global, .micro = global / microbatches, .sequence = 16};
}

inline TrainSettings settings(std::int32_t steps) {
  TrainSettings train;
  train.steps = steps;
  train.optimizer.lr = 1e-2;
  train.optimizer.warmup_steps = 2;
  return train;
}

}  // namespace penstock::testing
