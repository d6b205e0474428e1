// File: config_keys.h. What the families' readers of config.json share.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "json_reader.h"
#include "penstock/model.h"

namespace penstock {

// Bounds that keep every product of sizes inside 64 bits and every list of tensors small.
inline constexpr std::int64_t kMostLayers = 10'000;
inline constexpr std::int64_t kMostExperts = 1'000'000;  // of all layers together
inline constexpr std::int64_t kMostPredictions = 100;
inline constexpr std::int64_t kMostWidth = 1'000'000;
inline constexpr std::int64_t kMostRows = 100'000'000;  // vocabulary, positions

// A key whose value may change the maths, and the values that do not.
struct PlainKey {
  std::string_view key;
  std::array<std::string_view, 2> plain;  // JSON texts; null and absent are always plain
  std::string_view meaning;
};

// Reports each key that holds another value.
void refuse_changed_maths(const JsonReader& root, std::span<const PlainKey> keys);
// Those that no family may hold; experts only where `model` has some.
void refuse_changed_maths(const JsonReader& root, const Model& model);

std::int32_t size(const JsonReader& root, std::string_view key, std::int64_t max);
// A size that the file may leave out or null.
std::int32_t size_or(const JsonReader& root, std::string_view key, std::int64_t max,
                     std::int64_t fallback);

Activation read_activation(const JsonReader& root, std::string_view key,
                           const std::string& fallback);

// Training leaves dropout out: a note says so where the file asks for it.
void note_dropout(const JsonReader& root, std::initializer_list<std::string_view> keys,
                  Model& model);

// Sets rope_theta and rope_scaling.
void read_rope(const JsonReader& root, double usual_theta, Model& model);

}  // namespace penstock
