#include "channels.h"

#include <algorithm>
#include <tuple>

#include "penstock/op.h"

namespace penstock {
namespace {

struct Line {
  std::int32_t from;
  std::int32_t to;
  OpKind kind;
  std::int32_t stage;  // that sends on it

  auto key() const { return std::tuple(from, to, kind); }
};

std::vector<Line> lines_of(const Pipeline& pipeline, const Dependencies& dependencies,
                           OpKind kind) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const auto stage = static_cast<std::int32_t>(i);
    const std::int32_t receiver = dependencies.receiver({.kind = kind, .stage = stage});
    if (receiver < 0) continue;
    const std::int32_t from = pipeline.stages[i].actor;
    const std::int32_t to = pipeline.stages[static_cast<std::size_t>(receiver)].actor;
    if (from != to) lines.push_back({from, to, kind, stage});
  }
  return lines;
}

}  // namespace

Channels channels_of(const Pipeline& pipeline, const Dependencies& dependencies) {
  std::vector<Line> lines = lines_of(pipeline, dependencies, OpKind::Forward);
  const std::vector<Line> gradients = lines_of(pipeline, dependencies, OpKind::Backward);
  lines.insert(lines.end(), gradients.begin(), gradients.end());
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::tuple(a.key(), a.stage) < std::tuple(b.key(), b.stage);
  });
  Channels channels;
  channels.activation.resize(pipeline.stages.size(), -1);
  channels.gradient.resize(pipeline.stages.size(), -1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 || lines[i].key() != lines[i - 1].key()) ++channels.count;
    auto& of_stage = lines[i].kind == OpKind::Forward ? channels.activation : channels.gradient;
    of_stage[static_cast<std::size_t>(lines[i].stage)] = channels.count - 1;
  }
  return channels;
}

}  // namespace penstock
