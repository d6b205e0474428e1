#include "interpreter.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "clock.h"
#include "penstock/index.h"

namespace penstock {

Interpreter::Interpreter(const Program& program, const ActorPlan& plan,
                         std::span<const MessagePlan> messages, Device& device,
                         Transport& transport)
    : program_(program),
      plan_(plan),
      messages_(messages),
      device_(device),
      transport_(transport),
      rooms_(program, transport),
      written_(program.messages.size(), -1),
      tickets_(program.messages.size()) {
  for (const std::int64_t floats : plan.local_floats) local_.emplace_back(floats);
  for (std::int32_t i = 0; i < plan.send_buffers; ++i) {
    send_buffers_.emplace_back(plan.send_floats);
    free_send_buffers_.push_back(i);
  }
  sending_.reserve(send_buffers_.size());
  posted_.reserve(plan.tasks.size());
}

Interpreter::~Interpreter() {
  if (!sending_.empty()) leave_to_sends(std::move(send_buffers_));  // the run has failed
}

void Interpreter::run(std::int64_t step, StepEnd& step_end, std::span<Mark> marks) {
  assert(marks.size() == plan_.tasks.size() && "a mark per task");
  step_ = step;
  step_end_ = &step_end;
  marks_ = marks;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i) {
    const Task& task = plan_.tasks[i];
    transport_.at(static_cast<std::int32_t>(i));
    if (pass(i)) continue;
    if (task.kind == ActionKind::Verdict) {
      verify(i, *step_end.validation());
      continue;
    }
    marks_[i].start = now();
    step_end_action(task, step_end);
    marks_[i].end = now();
  }
  // Where norms were exchanged the others have consumed everything by now, and elsewhere they will:
  // this does not hold anybody up. With verdicts the next step need not wait for that.
  if (step_end.validation() == nullptr) finish_sends();
  assert(posted_.empty() && "every message of the step was awaited");
}

void Interpreter::finish_sends() {
  for (const Sending& sending : sending_) {
    transport_.wait(sending.ticket);
    free_send_buffers_.push_back(sending.buffer);
  }
  sending_.clear();
  rooms_.finish();
}

// Ops and messages: true.
bool Interpreter::pass(std::size_t at) {
  switch (plan_.tasks[at].kind) {
    case ActionKind::Compute:
      compute(at);
      return true;
    case ActionKind::Send:
      send(at);
      return true;
    case ActionKind::Receive:
      receive(at);
      return true;
    case ActionKind::AwaitRoom:
      marks_[at].start = now();
      rooms_.await(plan_.tasks[at].index, step_);
      marks_[at].end = now();
      return true;
    default:
      return false;
  }
}

void Interpreter::step_end_action(const Task& task, StepEnd& step_end) {
  if (task.kind == ActionKind::ReduceGradients) step_end.reduce_gradients(task.index);
  if (task.kind == ActionKind::GlobalNorm) step_end.exchange_norms();
  if (task.kind == ActionKind::PartialNorm) step_end.validation()->partial_norm();
  if (task.kind == ActionKind::NormReceive) step_end.validation()->receive_norm();
  if (task.kind == ActionKind::NormSend) step_end.validation()->send_norm();
  if (task.kind == ActionKind::Update) step_end.update(task.index);
}

// The last step's gradients are needed until then.
void Interpreter::verify(std::size_t at, PostValidation& validation) {
  if (validation.is_open()) validation.await_verdict();
  marks_[at].start = now();
  if (validation.is_open() && !validation.settle()) run_again(at);
  device_.clear_gradients();
  marks_[at].end = now();
}

// Drops what came of the wrong weights, and runs tasks [0, end) once more. All that other actors
// had sent before their verdict is received there, so that both ends count the same messages.
void Interpreter::run_again(std::size_t end) {
  while (!posted_.empty()) await(plan_.tasks[posted_.front()].index);
  for (std::size_t i = 0; i < end; ++i) {
    const Task& task = plan_.tasks[i];
    if (task.kind != ActionKind::Receive) continue;
    transport_.release(tickets_[index(task.index)]);
  }
  ++rolled_back_;
  const Traffic first = traffic_;
  second_marks_.resize(plan_.tasks.size());
  const std::span<Mark> first_marks = std::exchange(marks_, second_marks_);
  for (std::size_t i = 0; i < end; ++i) pass(i);
  marks_ = first_marks;
  traffic_.messages_resent += traffic_.messages_sent - first.messages_sent;
  traffic_.bytes_resent += traffic_.bytes_sent - first.bytes_sent;
  traffic_.messages_sent = first.messages_sent;
  traffic_.bytes_sent = first.bytes_sent;
}

void Interpreter::compute(std::size_t at) {
  const Task& task = plan_.tasks[at];
  await_rest_of_pair(at);
  const std::span<const float> in = input(task.input);
  const std::span<float> out = output(task.output);
  // A pair is one piece of work: no gap between its ops.
  marks_[at].start = task.overlaps_previous ? marks_[at - 1].end : now();
  if (!task.overlaps_previous) tell_start(at);
  if (task.op.kind == OpKind::Update) {
    step_end_->update(task.op);
  } else {
    device_.run(task.op, in, out);
  }
  marks_[at].end = now();
  for (const Operand& operand : task.released) release(operand);
  const bool pair_goes_on = at + 1 < plan_.tasks.size() && plan_.tasks[at + 1].overlaps_previous;
  if (!pair_goes_on) poll();
}

// All ops of a pair start with the first.
void Interpreter::tell_start(std::size_t at) {
  do rooms_.started(plan_.tasks[at++].index, step_);
  while (at < plan_.tasks.size() && plan_.tasks[at].overlaps_previous);
}

// A pair starts when the inputs of all its ops are there.
void Interpreter::await_rest_of_pair(std::size_t at) {
  for (std::size_t i = at + 1; i < plan_.tasks.size() && plan_.tasks[i].overlaps_previous; ++i) {
    const Operand& operand = plan_.tasks[i].input;
    if (operand.place == Place::Message) await(operand.index);
  }
}

std::int64_t Interpreter::number(std::int32_t message) const {
  const auto m = index(message);
  return program_.messages[m].number + step_ * messages_[m].per_step +
         rolled_back_ * messages_[m].speculative;
}

void Interpreter::send(std::size_t at) {
  const Task& task = plan_.tasks[at];
  const auto m = index(task.index);
  const Message& message = program_.messages[m];
  const std::int32_t buffer = written_[m];
  const auto bytes = std::as_bytes(send_buffers_[index(buffer)].floats(messages_[m].floats));
  const Ticket ticket = transport_.send(message.to, message.kind, number(task.index), bytes);
  sending_.push_back({ticket, buffer});
  ++traffic_.messages_sent;
  traffic_.bytes_sent += static_cast<std::int64_t>(bytes.size());
  // Handing over is work of the compute lane, so it belongs to the op that made the tensor.
  const Nanoseconds time = now();
  marks_[at] = {time, time};
  if (task.compute_task >= 0) marks_[index(task.compute_task)].end = time;
}

void Interpreter::receive(std::size_t at) {
  const std::int32_t m = plan_.tasks[at].index;
  const Message& message = program_.messages[index(m)];
  const std::int64_t bytes = messages_[index(m)].floats * static_cast<std::int64_t>(sizeof(float));
  tickets_[index(m)] = transport_.receive(message.from, message.kind, number(m), bytes);
  marks_[at].start = now();
  posted_.push_back(at);
}

std::span<const float> Interpreter::input(const Operand& operand) {
  if (operand.place == Place::None) return {};
  const auto i = index(operand.index);
  if (operand.place == Place::Local) return local_[i].floats();
  await(operand.index);
  const std::span<const std::byte> bytes = transport_.data(tickets_[i]);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<float> Interpreter::output(const Operand& operand) {
  if (operand.place == Place::None) return {};
  const auto i = index(operand.index);
  if (operand.place == Place::Local) return local_[i].floats();
  if (free_send_buffers_.empty()) reap();
  if (free_send_buffers_.empty()) {  // a slow peer: one more buffer rather than a wait
    free_send_buffers_.push_back(static_cast<std::int32_t>(send_buffers_.size()));
    send_buffers_.emplace_back(plan_.send_floats);
  }
  written_[i] = free_send_buffers_.back();
  free_send_buffers_.pop_back();
  return send_buffers_[index(written_[i])].floats(messages_[i].floats);
}

void Interpreter::release(const Operand& operand) {
  if (operand.place != Place::Message) return;
  transport_.release(tickets_[index(operand.index)]);
}

void Interpreter::await(std::int32_t message) {
  for (std::size_t i = 0; i < posted_.size(); ++i) {
    if (plan_.tasks[posted_[i]].index != message) continue;
    transport_.wait(tickets_[index(message)]);
    arrived(i, now());
    return;
  }
}

void Interpreter::arrived(std::size_t posted, Nanoseconds time) {
  marks_[posted_[posted]].end = time;
  posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(posted));
}

// Between two ops: lets transports without a progress thread move on, and sees what has come.
void Interpreter::poll() {
  for (std::size_t i = 0; i < posted_.size();) {
    const auto message = index(plan_.tasks[posted_[i]].index);
    if (transport_.test(tickets_[message])) {
      arrived(i, now());
    } else {
      ++i;
    }
  }
  reap();
}

void Interpreter::reap() {
  const auto done = [&](const Sending& sending) {
    if (!transport_.test(sending.ticket)) return false;
    free_send_buffers_.push_back(sending.buffer);
    return true;
  };
  sending_.erase(std::remove_if(sending_.begin(), sending_.end(), done), sending_.end());
}

}  // namespace penstock
