#include "windows.h"

#include <cassert>

#include "penstock/depend.h"

namespace penstock {

std::vector<StageWindows> stage_windows(const Pipeline& pipeline) {
  const Dependencies dependencies(pipeline);
  std::vector<StageWindows> stages(pipeline.stages.size());
  for (const Route& route : pipeline.routes) {
    const auto length = static_cast<std::int32_t>(route.size());
    const auto windows = [&](std::int32_t first, std::int32_t last) {
      const bool on_route = first >= 0 && last < length;
      return on_route ? windows_with(pipeline.learning, length, first, last) : 0;
    };
    std::int32_t losses = 0;
    for (std::int32_t i = 0; i < length; ++i) {
      const std::int32_t id = route[static_cast<std::size_t>(i)];
      StageWindows& stage = stages[static_cast<std::size_t>(id)];
      stage.received = windows(i, i + 1);
      stage.sent = windows(i - 1, i);
      stage.has_loss = i + 1 == length || windows(i, i) > stage.received;
      if (stage.has_loss) stage.loss = losses++;
      stage.late = dependencies.giver({OpKind::BackwardWeight, id, 0, 0}) >= 0;
      assert((!stage.late || (stage.has_loss && stage.sent == 1)) && "only its own is sent back");
    }
  }
  return stages;
}

}  // namespace penstock
