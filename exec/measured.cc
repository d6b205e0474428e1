#include "measured.h"

#include <algorithm>
#include <limits>

#include "penstock/empty_timeline.h"

namespace penstock {
namespace {

// Timeline::spans index of every op, and when every message was handed over and seen.
struct Found {
  std::vector<std::size_t> span_of_compute;
  std::vector<Nanoseconds> handed_over;
  std::vector<Nanoseconds> seen;
};

// The stage of a group that a reduction's span names: the actor's first.
std::int32_t own_stage(const Program& program, std::int32_t group, std::int32_t actor) {
  for (const std::int32_t stage : program.shared[static_cast<std::size_t>(group)]) {
    if (program.schedule.pipeline.stages[static_cast<std::size_t>(stage)].actor == actor) {
      return stage;
    }
  }
  return -1;
}

Span make_span(const Program& program, const Action& action, std::int32_t actor) {
  Span span{.kind = action.kind, .op = {}, .actor = actor};
  const auto index = static_cast<std::size_t>(action.index);
  if (action.kind == ActionKind::Compute) {
    span.op = program.computes[index].op;
    span.awaits = program.computes[index].awaits;
    span.overlaps_previous = program.computes[index].overlaps_previous;
  } else if (action.kind == ActionKind::ReduceGradients) {
    span.op.stage = own_stage(program, action.index, actor);
  } else {
    span.op.stage = action.kind == ActionKind::Update ? action.index : -1;
  }
  return span;
}

Found add_spans(Timeline& timeline, const Program& program,
                std::span<const std::vector<Mark>> marks) {
  Found found{.span_of_compute = std::vector<std::size_t>(program.computes.size()),
              .handed_over = std::vector<Nanoseconds>(program.messages.size()),
              .seen = std::vector<Nanoseconds>(program.messages.size())};
  for (std::size_t actor = 0; actor < program.actions.size(); ++actor) {
    for (std::size_t i = 0; i < program.actions[actor].size(); ++i) {
      const Action& action = program.actions[actor][i];
      const Mark& mark = marks[actor][i];
      const auto index = static_cast<std::size_t>(action.index);
      if (action.kind == ActionKind::Send) {
        found.handed_over[index] = mark.start;
        continue;
      }
      if (action.kind == ActionKind::Receive) {
        found.seen[index] = mark.end;
        continue;
      }
      if (action.kind == ActionKind::AwaitRoom) continue;
      if (action.kind == ActionKind::NormSend || action.kind == ActionKind::NormReceive) continue;
      Span span = make_span(program, action, static_cast<std::int32_t>(actor));
      span.start = mark.start;
      span.end = mark.end;
      if (action.kind == ActionKind::Compute) {
        found.span_of_compute[index] = timeline.spans.size();
      } else if (action.kind == ActionKind::ReduceGradients ||
                 action.kind == ActionKind::GlobalNorm) {
        span.start = std::min(last_entry(program, marks, action), span.end);
      }
      timeline.spans.push_back(span);
    }
  }
  return found;
}

void add_transfers(Timeline& timeline, const Program& program,
                   std::span<const MessagePlan> messages, const Found& found) {
  for (std::size_t m = 0; m < program.messages.size(); ++m) {
    const Message& message = program.messages[m];
    const auto producer = static_cast<std::size_t>(message.producer);
    Span& span = timeline.spans[found.span_of_compute[producer]];
    // The peer may see the message before the sender has read the clock.
    const Nanoseconds ready = std::min(found.handed_over[m], found.seen[m]);
    span.end = std::max(span.start, std::min(span.end, ready));
    timeline.transfers.push_back(
        {.op = program.computes[producer].op,
         .kind = message.kind,
         .from = message.from,
         .to = message.to,
         .bytes = messages[m].floats * static_cast<std::int64_t>(sizeof(float)),
         .ready = ready,
         .start = ready,
         .end = found.seen[m]});
  }
}

}  // namespace

Nanoseconds last_entry(const Program& program, std::span<const std::vector<Mark>> marks,
                       const Action& action) {
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
  for (std::size_t actor = 0; actor < program.actions.size(); ++actor) {
    for (std::size_t i = 0; i < program.actions[actor].size(); ++i) {
      if (program.actions[actor][i] == action) last = std::max(last, marks[actor][i].start);
    }
  }
  return last;
}

Timeline measured_timeline(const RunPlan& plan, std::span<const StageInfo> stages,
                           std::span<const MessagePlan> messages,
                           std::span<const std::vector<Mark>> marks, Nanoseconds begin) {
  const Program& program = plan.program;
  Timeline timeline = empty_timeline(program.schedule, TimelineSource::Measured);
  timeline.tokens = static_cast<std::int64_t>(plan.batch.global) * plan.batch.sequence;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    TimelineStage& stage = timeline.stages[s];
    stage.activation_bytes = stages[s].activation_bytes;
    stage.kept_bytes = stages[s].kept_bytes;
    stage.left_bytes = stages[s].left_bytes;
    stage.weight_bytes = stages[s].weight_bytes;
  }
  const Found found = add_spans(timeline, program, marks);
  add_transfers(timeline, program, messages, found);
  for (Span& span : timeline.spans) {
    span.start -= begin;
    span.end -= begin;
  }
  for (Transfer& transfer : timeline.transfers) {
    transfer.ready -= begin;
    transfer.start -= begin;
    transfer.end -= begin;
  }
  return timeline;
}

}  // namespace penstock
