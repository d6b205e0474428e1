// Whether a cost table can price a schedule.
#include <fmt/format.h>

#include "costs_links.h"
#include "penstock/costs.h"
#include "penstock/index.h"

namespace penstock {
namespace {

// "stage 3", "stages 0 to 7".
std::string stages_text(std::size_t first, std::size_t last) {
  return first == last ? fmt::format("stage {}", first)
                       : fmt::format("stages {} to {}", first, last);
}

// used[stage * kPassKinds + kind]
std::vector<bool> used_kinds(const Schedule& schedule) {
  std::vector<bool> used(schedule.pipeline.stages.size() * kPassKinds);
  for (const std::vector<Step>& steps : schedule.order) {
    for (const Step& step : steps) {
      if (step.op.kind == OpKind::Update) continue;  // free unless a price is given
      used[index(step.op.stage) * kPassKinds + index(step.op.kind)] = true;
    }
  }
  return used;
}

bool gives(const StageCosts& costs, OpKind kind) {
  const auto given = [&](OpKind k) { return costs.op[index(k)].has_value(); };
  if (given(kind)) return true;
  return kind == OpKind::Backward && given(OpKind::BackwardInput) && given(OpKind::BackwardWeight);
}

bool is_half(OpKind kind) {
  return kind == OpKind::BackwardInput || kind == OpKind::BackwardWeight;
}

Problem not_given(OpKind kind, std::size_t first, std::size_t last, bool full_backward_given) {
  std::string hint = is_half(kind) ? std::string("give I and W (milliseconds)")
                                   : fmt::format("give {} (milliseconds)", letter(kind));
  if (kind == OpKind::Backward) hint += ", or I and W";
  if (full_backward_given && is_half(kind)) hint += ": how B splits into I and W is not guessed";
  return {"costs",
          fmt::format("{} of {} has no duration, and the schedule runs it", letter(kind),
                      stages_text(first, last)),
          hint};
}

// One problem per kind and run of neighbouring stages.
void report_missing_kinds(const CostTable& costs, const Schedule& schedule,
                          std::vector<Problem>& problems) {
  const std::vector<bool> used = used_kinds(schedule);
  for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
    const auto op_kind = static_cast<OpKind>(kind);
    const auto missing = [&](std::size_t stage) {
      return used[stage * kPassKinds + kind] && !gives(costs.stages[stage], op_kind);
    };
    for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
      if (!missing(stage)) continue;
      const std::size_t first = stage;
      while (stage + 1 < costs.stages.size() && missing(stage + 1)) ++stage;
      Problem problem = not_given(op_kind, first, stage,
                                  costs.stages[first].op[index(OpKind::Backward)].has_value());
      // I and W lack for the same reason: it is said once, for both.
      const bool again =
          !problems.empty() && is_half(op_kind) && problems.back().hint == problem.hint;
      if (again) problems.back().hint.clear();
      problems.push_back(std::move(problem));
    }
  }
}

// Why `rows` (a Duration's or a MessageCost's) do not fit the microbatches and their slices; ""
// when they do.
std::string misfit(const std::vector<std::vector<std::int64_t>>& rows, bool microbatch_varies,
                   const Pipeline& pipeline) {
  if (rows.empty()) return {};
  if (microbatch_varies && rows.size() != pipeline.microbatches.size()) {
    return fmt::format("gives {} microbatches, the schedule has {}", rows.size(),
                       pipeline.microbatches.size());
  }
  for (std::size_t microbatch = 0; microbatch < pipeline.microbatches.size(); ++microbatch) {
    const auto slices = index(pipeline.microbatches[microbatch].slices());
    const std::size_t given = rows[microbatch_varies ? microbatch : 0].size();
    if (given == slices) continue;
    return fmt::format("gives {} slices, microbatch {} has {}", given, microbatch, slices);
  }
  return {};
}

void report_misfits(const CostTable& costs, const Schedule& schedule,
                    std::vector<Problem>& problems) {
  for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
    for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
      const std::optional<Duration>& duration = costs.stages[stage].op[kind];
      if (!duration) continue;
      const std::string why =
          misfit(duration->varied, duration->microbatch_varies, schedule.pipeline);
      if (why.empty()) continue;
      problems.push_back(
          {"costs", fmt::format("{} of stage {} {}", letter(static_cast<OpKind>(kind)), stage, why),
           "give one number, an array per slice, or an array per microbatch of arrays per slice"});
    }
    const MessageCost& message = costs.stages[stage].message;
    const std::string why = misfit(message.varied, message.microbatch_varies, schedule.pipeline);
    if (why.empty()) continue;
    problems.push_back({"costs", fmt::format("the message of stage {} {}", stage, why),
                        "give one number of bytes, an array per slice, or an array per microbatch "
                        "of arrays per slice"});
  }
}

}  // namespace

std::vector<Problem> missing_costs(const CostTable& costs, const Schedule& schedule) {
  std::vector<Problem> problems;
  if (costs.stages.size() != schedule.pipeline.stages.size()) {
    problems.push_back(
        {"costs",
         fmt::format("costs of {} stage{} are given, the schedule has {}", costs.stages.size(),
                     costs.stages.size() == 1 ? "" : "s", schedule.pipeline.stages.size()),
         "costs are per stage, or per part of the model where stages are copies: an actor that "
         "holds "
         "v chunks has v of them"});
    return problems;
  }
  report_missing_kinds(costs, schedule, problems);
  report_misfits(costs, schedule, problems);
  for (Problem& problem : link_misfits(costs.links, schedule.pipeline.actors)) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace penstock
