#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/imported_timeline.h"
#include "formats/kineto_clocks.h"
#include "formats/readers.h"
#include "penstock/check.h"
#include "penstock/kineto.h"
#include "penstock/trace.h"

namespace penstock {
namespace {

// By rank where every file says its own, else as given.
void sort_by_rank(std::vector<KinetoRank>& ranks) {
  if (std::any_of(ranks.begin(), ranks.end(), [](const KinetoRank& r) { return r.rank < 0; })) {
    return;
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const KinetoRank& a, const KinetoRank& b) { return a.rank < b.rank; });
}

const KinetoStep* complete_step(const KinetoRank& rank, std::int32_t number) {
  for (const KinetoStep& step : rank.steps) {
    if (step.number == number && step.complete) return &step;
  }
  return nullptr;
}

// The numbers of the steps that every rank has complete.
std::vector<std::int32_t> common_steps(const std::vector<KinetoRank>& ranks) {
  std::vector<std::int32_t> numbers;
  for (const KinetoStep& step : ranks.front().steps) {
    if (std::all_of(ranks.begin(), ranks.end(), [&](const KinetoRank& rank) {
          return complete_step(rank, step.number) != nullptr;
        })) {
      numbers.push_back(step.number);
    }
  }
  return numbers;
}

std::string list(const std::vector<std::int32_t>& numbers) {
  constexpr std::size_t kMost = 20;
  if (numbers.size() <= kMost) return fmt::format("{}", fmt::join(numbers, ", "));
  return fmt::format("{}, .., {}", numbers.front(), numbers.back());
}

std::int32_t chosen_step(const std::vector<KinetoRank>& ranks, std::optional<std::int32_t> wanted) {
  const std::vector<std::int32_t> numbers = common_steps(ranks);
  if (numbers.empty()) {
    throw Error(ranks.front().where,
                ranks.size() == 1
                    ? "no step is complete in it"
                    : fmt::format("no step is complete in it and in {}",
                                  ranks.size() == 2 ? ranks.back().where
                                                    : fmt::format("{} more", ranks.size() - 1)),
                "profile one step at least from its begin to its end, the same on every rank: "
                "torch.profiler.schedule(...) and prof.step() after each");
  }
  if (!wanted) return numbers.back();
  if (std::find(numbers.begin(), numbers.end(), *wanted) == numbers.end()) {
    throw Error(ranks.front().where, fmt::format("no step {} is complete", *wanted),
                fmt::format("complete: {}", list(numbers)));
  }
  return *wanted;
}

// The ops that two files ran: two replicas, or a file given twice.
std::vector<Problem> repeated(const std::vector<KinetoRank>& ranks,
                              const std::vector<const KinetoStep*>& steps) {
  std::map<Op, std::size_t> home;
  std::set<std::pair<std::size_t, std::size_t>> reported;
  std::vector<Problem> problems;
  for (std::size_t actor = 0; actor < steps.size(); ++actor) {
    for (const KinetoEvent& event : steps[actor]->events) {
      for (const Op& op : event.ops) {
        const auto [entry, is_new] = home.try_emplace(op, actor);
        if (is_new || !reported.insert({entry->second, actor}).second) continue;
        problems.push_back(
            {ranks[actor].where,
             fmt::format("{} ran in {} too", to_string(op), ranks[entry->second].where),
             "give the files of one data-parallel replica, each once"});
      }
    }
  }
  return problems;
}

std::vector<std::vector<Step>> order_of(const std::vector<const KinetoStep*>& steps) {
  std::vector<std::vector<Step>> order;
  for (const KinetoStep* step : steps) {
    std::vector<Step>& actor = order.emplace_back();
    for (const KinetoEvent& event : step->events) {
      for (std::size_t i = 0; i < event.ops.size(); ++i) {
        actor.push_back({.op = event.ops[i], .overlaps_previous = i > 0});
      }
    }
  }
  return order;
}

// Throws Error with what the files lack to be a schedule.
Schedule schedule_of_steps(const std::vector<KinetoRank>& ranks,
                           const std::vector<const KinetoStep*>& steps) {
  std::vector<Problem> problems = repeated(ranks, steps);
  if (!problems.empty()) throw Error(problems);
  const std::string where = ranks.size() == 1
                                ? ranks[0].where
                                : fmt::format("{} and {} more", ranks[0].where, ranks.size() - 1);
  Schedule schedule = schedule_from_order(order_of(steps), where, problems);
  constexpr const char* kHint = "give a file for every rank of the pipeline";
  for (Problem& problem : problems) problem.hint = kHint;
  const auto stages = static_cast<std::int32_t>(schedule.pipeline.stages.size());
  for (const KinetoRank& rank : ranks) {
    if (!problems.empty() || rank.last_stage < stages) continue;
    problems.push_back(
        {rank.where, fmt::format("it names stage {}, which no file ran", rank.last_stage), kHint});
  }
  if (!problems.empty()) throw Error(problems);
  problems = check(schedule, where);
  for (Problem& problem : problems) {  // nobody edits a trace: what it lacks is another file
    problem.hint = "a rank seems to be missing: give a file for every rank of the pipeline";
    problem.where = where;
  }
  if (!problems.empty()) throw Error(problems);
  return schedule;
}

std::vector<Span> spans_of(const std::vector<const KinetoStep*>& steps, Nanoseconds origin) {
  std::vector<Span> spans;
  for (std::size_t actor = 0; actor < steps.size(); ++actor) {
    for (const KinetoEvent& event : steps[actor]->events) {
      Span span{.actor = static_cast<std::int32_t>(actor),
                .start = event.start - origin,
                .end = event.end - origin};
      if (event.ops.empty()) {
        span.kind = ActionKind::ReduceGradients;
        span.op.stage = event.reduced_stage;
        spans.push_back(span);
      }
      for (const Op& op : event.ops) {
        span.op = op;
        spans.push_back(span);
        span.overlaps_previous = true;
      }
    }
  }
  return spans;
}

// Later by by[actor], and back so that the first op starts at 0 again.
void shift(std::vector<Nanoseconds> by, Timeline& timeline) {
  Nanoseconds first = INT64_MAX;
  for (const Span& span : timeline.spans) {
    first = std::min(first, span.start + by[static_cast<std::size_t>(span.actor)]);
  }
  for (Nanoseconds& later : by) later -= first;
  for (Span& span : timeline.spans) {
    span.start += by[static_cast<std::size_t>(span.actor)];
    span.end += by[static_cast<std::size_t>(span.actor)];
  }
  for (Transfer& transfer : timeline.transfers) {
    const Nanoseconds later = by[static_cast<std::size_t>(transfer.from)];
    transfer.ready += later;
    transfer.start += later;
    transfer.end += later;
  }
  for (const Span& span : timeline.spans) {
    if (span.awaits < 0) continue;
    Transfer& input = timeline.transfers[static_cast<std::size_t>(span.awaits)];
    input.end = std::max(input.ready, span.start);
  }
}

std::string microseconds(Nanoseconds time) {
  return fmt::format("{:.3f} us", static_cast<double>(time) / 1000);
}

// What the clocks say of the messages; with `align`, shifts them first.
void check_clocks(const std::vector<KinetoRank>& ranks, bool align, ImportedStep& step) {
  const std::vector<EarlyUse> early = early_uses(step.timeline);
  if (early.empty()) return;
  const std::vector<Nanoseconds> shifts = clock_shifts(step.timeline);
  if (align && !shifts.empty()) {
    shift(shifts, step.timeline);
    for (std::size_t actor = 0; actor < shifts.size(); ++actor) {
      if (shifts[actor] == 0) continue;
      step.notes.push_back({ranks[actor].where,
                            fmt::format("its clock is shifted by {}", microseconds(shifts[actor])),
                            {}});
    }
    return;
  }
  const char* hint = shifts.empty()
                         ? "no shift of the clocks explains it: marks on the host do not wait for "
                           "the device"
                         : "the ranks' clocks differ: synchronise them, or shift them with --align";
  for (const EarlyUse& use : early) {
    step.notes.push_back(
        {ranks[static_cast<std::size_t>(use.to)].where,
         fmt::format("{} starts {} before {} ends in {}{}", to_string(use.consumer),
                     microseconds(use.by), to_string(use.producer),
                     ranks[static_cast<std::size_t>(use.from)].where,
                     use.count > 1 ? fmt::format(" ({} such)", use.count) : ""),
         hint});
  }
}

// Throws Error when the ranks' times lie too far apart to be of one step.
Nanoseconds origin_of(const std::vector<KinetoRank>& ranks,
                      const std::vector<const KinetoStep*>& steps) {
  Nanoseconds first = INT64_MAX;
  Nanoseconds last = 0;
  for (const KinetoStep* step : steps) {
    for (const KinetoEvent& event : step->events) {
      first = std::min(first, event.start);
      last = std::max(last, event.end);
    }
  }
  if (last - first > kLongestTrace) {
    throw Error(ranks.front().where, "more than 104 days between the first op and the last",
                "the files are of different runs, or a clock is wrong");
  }
  return first;
}

}  // namespace

ImportedStep import_step(std::vector<KinetoRank> ranks, const ImportOptions& options) {
  if (ranks.empty()) throw Error("import", "no trace is given", "give one file per rank");
  sort_by_rank(ranks);
  const std::int32_t number = chosen_step(ranks, options.step);
  std::vector<const KinetoStep*> steps;
  for (const KinetoRank& rank : ranks) steps.push_back(complete_step(rank, number));
  ImportedStep step{.schedule = schedule_of_steps(ranks, steps)};
  step.timeline = imported_timeline(step.schedule, spans_of(steps, origin_of(ranks, steps)));
  for (const KinetoRank& rank : ranks) {
    if (!rank.host_times) continue;
    step.notes.push_back({rank.where, "times of the host: the device has no mark of every op",
                          "the device may have run an op later, and waited for others"});
  }
  check_clocks(ranks, options.align, step);
  return step;
}

}  // namespace penstock
