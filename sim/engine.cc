#include "engine.h"

#include <algorithm>
#include <cassert>

#include "penstock/slice_counts.h"

namespace penstock {
namespace {

bool is_step_end(ActionKind kind) {
  return kind >= ActionKind::ReduceGradients;
}

std::vector<TimelineStage> stages_of(const Pipeline& pipeline, const CostTable& costs) {
  std::vector<TimelineStage> stages;
  stages.reserve(pipeline.stages.size());
  const std::vector<std::int64_t> kept = kept_bytes(costs, pipeline);
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    stages.push_back({.actor = pipeline.stages[i].actor,
                      .part = pipeline.stages[i].part,
                      .activation_bytes = costs.stages[i].activation_bytes,
                      .kept_bytes = kept[i],
                      .weight_bytes = costs.stages[i].weight_bytes});
  }
  for (std::size_t route = 0; route < pipeline.routes.size(); ++route) {
    for (const std::int32_t stage : pipeline.routes[route]) {
      stages[static_cast<std::size_t>(stage)].route = static_cast<std::int32_t>(route);
    }
  }
  return stages;
}

// 0 unless every microbatch says how long its slices are.
std::int64_t tokens_of(const Pipeline& pipeline) {
  const auto is_one = [](std::int32_t tokens) { return tokens == 1; };
  std::int64_t tokens = 0;
  for (const Microbatch& microbatch : pipeline.microbatches) {
    const std::vector<std::int32_t>& slices = microbatch.slice_tokens;
    if (std::all_of(slices.begin(), slices.end(), is_one)) return 0;
    for (const std::int32_t slice : microbatch.slice_tokens) {
      tokens += std::int64_t{slice} * microbatch.sequences;
    }
  }
  return tokens;
}

Timeline empty_timeline(const Program& program, const CostTable& costs) {
  const Pipeline& pipeline = program.schedule.pipeline;
  return {.name = program.schedule.name,
          .source = TimelineSource::Predicted,
          .actors = pipeline.actors,
          .microbatches = static_cast<std::int32_t>(pipeline.microbatches.size()),
          .stages = stages_of(pipeline, costs),
          .slices = slice_counts(pipeline),
          .spans = {},
          .transfers = {},
          .tokens = tokens_of(pipeline)};
}

}  // namespace

Engine::Engine(const Program& program, const Prices& prices, std::unique_ptr<Wire> wire)
    : program_(&program),
      prices_(&prices),
      wire_(std::move(wire)),
      timeline_(empty_timeline(program, prices.costs())),
      lanes_(program.actions.size()),
      meetings_(program.shared.size() + 1) {
  lay_out_spans();
  lay_out_transfers();
  if (program.schedule.pipeline.learning.queue_capacity > 0)
    starts_.resize(program.computes.size());
}

// Everything about the spans but their times. An actor's list is cut from the linear order, so its
// ops are met in its own order. Zero-cost actions at the step's end leave no span.
void Engine::lay_out_spans() {
  std::int32_t spans = 0;
  std::vector<std::int32_t> next;
  for (std::size_t actor = 0; actor < lanes_.size(); ++actor) {
    lanes_[actor].next_span = spans;
    next.push_back(spans);
    for (const Action& action : program_->actions[actor]) {
      if (action.kind == ActionKind::Compute) ++spans;
      if (!is_step_end(action.kind)) continue;
      if (prices_->of_step_end(action) > 0) ++spans;
      if (action.kind != ActionKind::Update) ++meetings_[meeting_of(action)].expected;
    }
  }
  timeline_.spans.resize(static_cast<std::size_t>(spans));
  for (const Compute& compute : program_->computes) {
    Span& span =
        timeline_.spans[static_cast<std::size_t>(next[static_cast<std::size_t>(compute.actor)]++)];
    span.op = compute.op;
    span.actor = compute.actor;
    span.awaits = compute.awaits;
    span.overlaps_previous = compute.overlaps_previous;
  }
}

void Engine::lay_out_transfers() {
  timeline_.transfers.reserve(program_->messages.size());
  flights_.reserve(program_->messages.size());
  for (const Message& message : program_->messages) {
    const bool forward = message.kind == OpKind::Forward;
    const Op& producer = program_->computes[static_cast<std::size_t>(message.producer)].op;
    const Op& consumer = program_->computes[static_cast<std::size_t>(message.consumer)].op;
    const std::int32_t stage = forward ? producer.stage : consumer.stage;
    flights_.push_back({.to = message.to, .boundary = prices_->boundary(stage, producer.slice)});
    timeline_.transfers.push_back({.op = producer,
                                   .kind = message.kind,
                                   .from = message.from,
                                   .to = message.to,
                                   .bytes = prices_->of_boundary(flights_.back().boundary).bytes});
  }
}

std::size_t Engine::meeting_of(const Action& action) const {
  return action.kind == ActionKind::GlobalNorm ? meetings_.size() - 1
                                               : static_cast<std::size_t>(action.index);
}

bool Engine::finished(std::int32_t actor) const {
  return lanes_[static_cast<std::size_t>(actor)].cursor ==
         static_cast<std::int32_t>(actions(actor).size());
}

Timeline Engine::run() {
  for (std::int32_t actor = 0; actor < static_cast<std::int32_t>(lanes_.size()); ++actor) {
    proceed(actor, 0);
  }
  while (!events_.empty()) handle(events_.pop());
  for (std::int32_t actor = 0; actor < static_cast<std::int32_t>(lanes_.size()); ++actor) {
    if (!finished(actor)) throw stuck();
  }
  return std::move(timeline_);
}

void Engine::handle(const Event& event) {
  if (event.subject >= 0) {
    release(event.subject, lane(event.subject).running, event.at);
  } else {
    wire_->handle(*this, ~event.subject, event.at);
  }
}

// Whether the lane, at an AwaitRoom, goes on at once. If not, an event ends the wait.
bool Engine::has_room(std::int32_t actor, Nanoseconds now) {
  Lane& here = lane(actor);
  const Action& action = actions(actor)[static_cast<std::size_t>(here.cursor)];
  const std::int32_t room = program_->computes[static_cast<std::size_t>(action.index)].room;
  Start& start = starts_[static_cast<std::size_t>(room)];
  if (start.at <= now) return true;
  here.running = 1;
  if (start.at == kNever) {
    start.waiter = actor;
  } else {
    events_.push_lane(start.at, actor);
  }
  return false;
}

// The ops at the cursor start then. Who waits for that goes on then, too.
void Engine::note_start(std::int32_t actor, std::int32_t count, Nanoseconds at) {
  const std::int32_t cursor = lane(actor).cursor;
  for (std::int32_t i = cursor; i < cursor + count; ++i) {
    const Action& action = actions(actor)[static_cast<std::size_t>(i)];
    Start& start = starts_[static_cast<std::size_t>(action.index)];
    start.at = at;
    if (start.waiter >= 0) events_.push_lane(at, start.waiter);
  }
}

void Engine::release(std::int32_t actor, std::int32_t count, Nanoseconds now) {
  lane(actor).cursor += count;
  lane(actor).running = 0;
  proceed(actor, now);
}

// Goes through the actor's list until something takes time or must be waited for.
void Engine::proceed(std::int32_t actor, Nanoseconds now) {
  const std::vector<Action>& list = actions(actor);
  Lane& here = lane(actor);
  while (here.cursor < static_cast<std::int32_t>(list.size())) {
    const Action& action = list[static_cast<std::size_t>(here.cursor)];
    switch (action.kind) {
      case ActionKind::Compute:
        return start_computes(actor, now);
      case ActionKind::Send:
      case ActionKind::Receive:
        if (!wire_->reach(*this, actor, here.cursor, now)) return;
        break;
      case ActionKind::AwaitRoom:
        if (!has_room(actor, now)) return;
        break;
      case ActionKind::ReduceGradients:
      case ActionKind::GlobalNorm:
        return meet(actor, now);
      case ActionKind::Update:
        if (prices_->of_step_end(action) > 0) return start_step_end(actor, now);
        break;
    }
    ++here.cursor;
  }
}

// Starts the op at the cursor, or the pair, once its inputs are known to come; else leaves the lane
// to deliver().
void Engine::start_computes(std::int32_t actor, Nanoseconds now) {
  Lane& here = lane(actor);
  Span* const first = timeline_.spans.data() + here.next_span;
  const Span* const spans_end = timeline_.spans.data() + timeline_.spans.size();
  const auto count = static_cast<std::int32_t>(end_of_together<Span>(first, spans_end) - first);
  Nanoseconds start = now;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t input = first[i].awaits;
    if (input < 0) continue;
    const Nanoseconds arrival = flights_[static_cast<std::size_t>(input)].end;
    if (arrival == kNever) {
      here.awaits = input;
      return;
    }
    start = std::max(start, arrival);
  }
  const Nanoseconds end = start + prices_->of_together<Span>(first, first + count);
  for (std::int32_t i = 0; i < count; ++i) {
    first[i].start = start;
    first[i].end = end;
  }
  here.awaits = -1;
  here.running = count;
  here.next_span += count;
  events_.push_lane(end, actor);
  if (!starts_.empty()) note_start(actor, count, start);
}

void Engine::deliver(std::int32_t message, Nanoseconds ready, Nanoseconds start, Nanoseconds end) {
  Transfer& transfer = timeline_.transfers[static_cast<std::size_t>(message)];
  transfer.ready = ready;
  transfer.start = start;
  transfer.end = end;
  Flight& flight = flights_[static_cast<std::size_t>(message)];
  flight.end = end;
  if (lane(flight.to).awaits == message) start_computes(flight.to, start);
}

// The stage that a span of the step's end names.
std::int32_t Engine::stage_of(const Action& action, std::int32_t actor) const {
  if (action.kind == ActionKind::Update) return action.index;
  if (action.kind == ActionKind::GlobalNorm) return -1;
  for (const std::int32_t stage : program_->shared[static_cast<std::size_t>(action.index)]) {
    if (timeline_.stages[static_cast<std::size_t>(stage)].actor == actor) return stage;
  }
  return -1;
}

// The last to come starts it for all. Everybody goes on through an event, so that no actor runs
// inside another's turn.
void Engine::meet(std::int32_t actor, Nanoseconds now) {
  const Action& action = actions(actor)[static_cast<std::size_t>(lane(actor).cursor)];
  Meeting& meeting = meetings_[meeting_of(action)];
  meeting.here.push_back(actor);
  if (static_cast<std::int32_t>(meeting.here.size()) < meeting.expected) return;
  for (const std::int32_t member : meeting.here) start_step_end(member, now);
}

void Engine::start_step_end(std::int32_t actor, Nanoseconds now) {
  Lane& here = lane(actor);
  const Action& action = actions(actor)[static_cast<std::size_t>(here.cursor)];
  const Nanoseconds duration = prices_->of_step_end(action);
  if (duration > 0) {
    timeline_.spans[static_cast<std::size_t>(here.next_span++)] = {
        .kind = action.kind,
        .op = {.stage = stage_of(action, actor)},
        .actor = actor,
        .start = now,
        .end = now + duration};
  }
  here.running = 1;
  events_.push_lane(now + duration, actor);
}

}  // namespace penstock
