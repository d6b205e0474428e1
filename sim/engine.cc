#include "engine.h"

#include <algorithm>
#include <cassert>

#include "penstock/empty_timeline.h"
#include "penstock/index.h"

namespace penstock {
namespace {

// A reduction or exchange of norms: nobody goes on before all of its actors have come.
bool is_meeting(ActionKind kind) {
  return kind == ActionKind::ReduceGradients || kind == ActionKind::GlobalNorm;
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

bool leaves_span(const Action& action, const Prices& prices) {
  switch (action.kind) {
    case ActionKind::Verdict:
      return true;
    case ActionKind::ReduceGradients:
    case ActionKind::GlobalNorm:
    case ActionKind::PartialNorm:
    case ActionKind::Update:
      return prices.of_step_end(action) > 0;
    default:
      return false;
  }
}

Timeline without_spans(const Program& program, const CostTable& costs) {
  const Pipeline& pipeline = program.schedule.pipeline;
  Timeline timeline = empty_timeline(program.schedule, TimelineSource::Predicted);
  timeline.tokens = tokens_of(pipeline);
  const std::vector<std::int64_t> kept = kept_bytes(costs, pipeline);
  for (std::size_t i = 0; i < timeline.stages.size(); ++i) {
    TimelineStage& stage = timeline.stages[i];
    stage.activation_bytes = costs.stages[i].activation_bytes;
    stage.kept_bytes = kept[i];
    stage.left_bytes = left_bytes(costs.stages[i]);
    stage.weight_bytes = costs.stages[i].weight_bytes;
  }
  return timeline;
}

}  // namespace

Engine::Engine(const Program& program, const Prices& prices, std::unique_ptr<Wire> wire)
    : program_(&program),
      prices_(&prices),
      wire_(std::move(wire)),
      timeline_(without_spans(program, prices.costs())),
      lanes_(program.actions.size()),
      meetings_(program.shared.size() + 1),
      norms_(program.actions.size()),
      verdicts_(program.actions.size()),
      ended_(program.actions.size()) {
  lay_out_spans();
  lay_out_transfers();
  if (program.schedule.pipeline.learning.queue_capacity > 0)
    starts_.resize(program.computes.size());
}

// Everything about the spans but their times. Zero-cost actions at the step's end leave no span; a
// verdict leaves one that takes no time, for what the actor waited for.
void Engine::lay_out_spans() {
  std::vector<Span>& spans = timeline_.spans;
  spans.reserve(program_->computes.size() + 4 * lanes_.size());
  for (std::size_t actor = 0; actor < lanes_.size(); ++actor) {
    lanes_[actor].next_span = static_cast<std::int32_t>(spans.size());
    for (const Action& action : program_->actions[actor]) {
      if (is_transfer(action.kind)) continue;
      if (action.kind == ActionKind::Compute) {
        const Compute& compute = program_->computes[index(action.index)];
        spans.push_back({.op = compute.op,
                         .actor = compute.actor,
                         .awaits = compute.awaits,
                         .overlaps_previous = compute.overlaps_previous});
        continue;
      }
      if (is_meeting(action.kind)) ++meetings_[meeting_of(action)].expected;
      if (leaves_span(action, *prices_)) {
        spans.push_back({.kind = action.kind,
                         .op = {.stage = stage_of(action, static_cast<std::int32_t>(actor))},
                         .actor = static_cast<std::int32_t>(actor)});
      }
    }
  }
}

void Engine::lay_out_transfers() {
  timeline_.transfers.reserve(program_->messages.size());
  flights_.reserve(program_->messages.size());
  for (const Message& message : program_->messages) {
    const bool forward = message.kind == OpKind::Forward;
    const Op& producer = program_->computes[index(message.producer)].op;
    const Op& consumer = program_->computes[index(message.consumer)].op;
    const std::int32_t stage = forward ? producer.stage : consumer.stage;
    flights_.push_back(
        {.to = message.to, .boundary = prices_->boundary(stage, producer, message.kind)});
    timeline_.transfers.push_back({.op = producer,
                                   .kind = message.kind,
                                   .from = message.from,
                                   .to = message.to,
                                   .bytes = prices_->of_boundary(flights_.back().boundary).bytes});
  }
}

std::size_t Engine::meeting_of(const Action& action) const {
  return action.kind == ActionKind::GlobalNorm ? meetings_.size() - 1 : index(action.index);
}

bool Engine::finished(std::int32_t actor) const {
  return lanes_[index(actor)].cursor == static_cast<std::int32_t>(actions(actor).size());
}

Timeline Engine::run(std::span<const Nanoseconds> starts) {
  for (std::int32_t actor = 0; actor < static_cast<std::int32_t>(lanes_.size()); ++actor) {
    if (starts.empty()) {
      proceed(actor, 0);
    } else {
      events_.push_lane(starts[index(actor)], actor);
    }
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

// Whether the actor's lane goes on at once. If not, an event brings it back to where it is.
bool Engine::has_come(Moment& moment, std::int32_t actor, Nanoseconds now) {
  if (moment.at <= now) return true;
  if (moment.at == kNever) {
    moment.waiter = actor;
  } else {
    events_.push_lane(moment.at, actor);
  }
  return false;
}

void Engine::set(Moment& moment, Nanoseconds at) {
  moment.at = at;
  if (moment.waiter >= 0) events_.push_lane(at, moment.waiter);
}

// The start that an AwaitRoom waits for.
Engine::Moment& Engine::room_of(const Action& action) {
  const std::int32_t room = program_->computes[index(action.index)].room;
  return starts_[index(room)];
}

// The last actor tells the others, who wait for that. False: an event ends the wait.
bool Engine::verify(std::int32_t actor, Nanoseconds now) {
  const bool tells = index(actor) + 1 == lanes_.size();
  if (!tells && !has_come(verdicts_[index(actor)], actor, now)) return false;
  for (std::size_t other = 0; tells && other + 1 < lanes_.size(); ++other) {
    set(verdicts_[other], now + prices_->note_latency());
  }
  Span& span = timeline_.spans[index(lane(actor).next_span++)];
  span.start = span.end = now;
  return true;
}

// The ops at the cursor start then. Who waits for that goes on then, too.
void Engine::note_start(std::int32_t actor, std::int32_t count, Nanoseconds at) {
  const std::int32_t cursor = lane(actor).cursor;
  for (std::int32_t i = cursor; i < cursor + count; ++i) {
    const Action& action = actions(actor)[index(i)];
    set(starts_[index(action.index)], at);
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
    const Action& action = list[index(here.cursor)];
    switch (action.kind) {
      case ActionKind::Compute:
        return start_computes(actor, now);
      case ActionKind::Send:
      case ActionKind::Receive:
        if (!wire_->reach(*this, actor, here.cursor, now)) return;
        break;
      case ActionKind::AwaitRoom:
        if (!has_come(room_of(action), actor, now)) return;
        break;
      case ActionKind::ReduceGradients:
      case ActionKind::GlobalNorm:
        return meet(actor, now);
      case ActionKind::Update:
      case ActionKind::PartialNorm:
        if (prices_->of_step_end(action) > 0) return start_step_end(actor, now);
        break;
      case ActionKind::NormReceive:
        if (!has_come(norms_[index(actor)], actor, now)) return;
        break;
      case ActionKind::NormSend:
        set(norms_[index(actor) + 1], now + prices_->note_latency());
        break;
      case ActionKind::Verdict:
        if (!verify(actor, now)) return;
        break;
    }
    ++here.cursor;
  }
  ended_[index(actor)] = now;
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
    const Nanoseconds arrival = flights_[index(input)].end;
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
  Transfer& transfer = timeline_.transfers[index(message)];
  transfer.ready = ready;
  transfer.start = start;
  transfer.end = end;
  Flight& flight = flights_[index(message)];
  flight.end = end;
  if (lane(flight.to).awaits == message) start_computes(flight.to, start);
}

// The stage that a span of the step's end names.
std::int32_t Engine::stage_of(const Action& action, std::int32_t actor) const {
  if (action.kind == ActionKind::Update) return action.index;
  if (action.kind != ActionKind::ReduceGradients) return -1;
  for (const std::int32_t stage : program_->shared[index(action.index)]) {
    if (timeline_.stages[index(stage)].actor == actor) return stage;
  }
  return -1;
}

// The last to come starts it for all. Everybody goes on through an event, so that no actor runs
// inside another's turn.
void Engine::meet(std::int32_t actor, Nanoseconds now) {
  const Action& action = actions(actor)[index(lane(actor).cursor)];
  Meeting& meeting = meetings_[meeting_of(action)];
  meeting.here.push_back(actor);
  if (static_cast<std::int32_t>(meeting.here.size()) < meeting.expected) return;
  for (const std::int32_t member : meeting.here) start_step_end(member, now);
}

void Engine::start_step_end(std::int32_t actor, Nanoseconds now) {
  Lane& here = lane(actor);
  const Action& action = actions(actor)[index(here.cursor)];
  const Nanoseconds duration = prices_->of_step_end(action);
  if (duration > 0) {
    Span& span = timeline_.spans[index(here.next_span++)];
    span.start = now;
    span.end = now + duration;
  }
  here.running = 1;
  events_.push_lane(now + duration, actor);
}

}  // namespace penstock
