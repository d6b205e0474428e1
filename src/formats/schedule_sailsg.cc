// Scheduled nodes as a schedule: their order, without their times.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/readers.h"
#include "formats/sailsg_nodes.h"
#include "penstock/index.h"

namespace penstock {

Schedule read_schedule_sailsg(std::string_view content, const std::string& where) {
  return schedule_of_nodes(read_nodes(content, where, NodeTimes::Ignored), where);
}

std::string write_schedule_sailsg(const Schedule& schedule) {
  refuse_unless_derivable(schedule, Format::SailSg);
  std::vector<std::int32_t> chunk;  // of each stage
  std::map<std::int32_t, std::int32_t> chunks;
  for (const Stage& stage : schedule.pipeline.stages) chunk.push_back(chunks[stage.actor]++);
  std::vector<std::string> ranks;
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    std::vector<std::string> nodes;
    for (const Step& step : schedule.order[actor]) {
      nodes.push_back(fmt::format(
          R"({{"type": "{}", "stage": {}, "microbatch": {}, "chunk": {}, "seq_split_idx": {}, "layer_group_idx": {}}})",
          node_type(step.op.kind), actor, step.op.microbatch,
          chunk[static_cast<std::size_t>(step.op.stage)], step.op.slice, step.op.stage));
    }
    ranks.push_back(nodes.empty() ? "[]"
                                  : fmt::format("[\n    {}\n  ]", fmt::join(nodes, ",\n    ")));
  }
  return fmt::format("[\n  {}\n]\n", fmt::join(ranks, ",\n  "));
}

}  // namespace penstock
