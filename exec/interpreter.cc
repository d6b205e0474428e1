#include "interpreter.h"

#include <algorithm>
#include <cassert>

#include "clock.h"

namespace penstock {

Interpreter::Interpreter(const Program& program, const ActorPlan& plan,
                         std::span<const MessagePlan> messages, Device& device,
                         Transport& transport)
    : program_(program),
      plan_(plan),
      messages_(messages),
      device_(device),
      transport_(transport),
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

void Interpreter::run(std::int64_t step, StepEnd& step_end, std::span<Mark> marks) {
  assert(marks.size() == plan_.tasks.size() && "a mark per task");
  step_ = step;
  marks_ = marks;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i) {
    const Task& task = plan_.tasks[i];
    transport_.at(static_cast<std::int32_t>(i));
    switch (task.kind) {
      case ActionKind::Compute:
        compute(i);
        continue;
      case ActionKind::Send:
        send(i);
        continue;
      case ActionKind::Receive:
        receive(i);
        continue;
      default:
        break;
    }
    marks_[i].start = now();
    if (task.kind == ActionKind::ReduceGradients) step_end.reduce_gradients(task.index);
    if (task.kind == ActionKind::GlobalNorm) step_end.exchange_norms();
    if (task.kind == ActionKind::Update) step_end.update(task.index);
    marks_[i].end = now();
  }
  // Where norms were exchanged the others have consumed everything by now, and elsewhere they will:
  // this does not hold anybody up.
  for (const Sending& sending : sending_) {
    transport_.wait(sending.ticket);
    free_send_buffers_.push_back(sending.buffer);
  }
  sending_.clear();
  assert(posted_.empty() && "every message of the step was awaited");
}

void Interpreter::compute(std::size_t index) {
  const Task& task = plan_.tasks[index];
  await_rest_of_pair(index);
  const std::span<const float> in = input(task.input);
  const std::span<float> out = output(task.output);
  // A pair is one piece of work: no gap between its ops.
  marks_[index].start = task.overlaps_previous ? marks_[index - 1].end : now();
  device_.run(task.op, in, out);
  marks_[index].end = now();
  for (const Operand& operand : task.released) release(operand);
  const bool pair_goes_on =
      index + 1 < plan_.tasks.size() && plan_.tasks[index + 1].overlaps_previous;
  if (!pair_goes_on) poll();
}

// A pair starts when the inputs of all its ops are there.
void Interpreter::await_rest_of_pair(std::size_t index) {
  for (std::size_t i = index + 1; i < plan_.tasks.size() && plan_.tasks[i].overlaps_previous; ++i) {
    const Operand& operand = plan_.tasks[i].input;
    if (operand.place == Place::Message) await(operand.index);
  }
}

std::int64_t Interpreter::number(std::int32_t message) const {
  const auto index = static_cast<std::size_t>(message);
  return program_.messages[index].number + step_ * messages_[index].per_step;
}

void Interpreter::send(std::size_t index) {
  const Task& task = plan_.tasks[index];
  const auto m = static_cast<std::size_t>(task.index);
  const Message& message = program_.messages[m];
  const std::int32_t buffer = written_[m];
  const auto bytes =
      std::as_bytes(send_buffers_[static_cast<std::size_t>(buffer)].floats(messages_[m].floats));
  const Ticket ticket = transport_.send(message.to, message.kind, number(task.index), bytes);
  sending_.push_back({ticket, buffer});
  ++traffic_.messages_sent;
  traffic_.bytes_sent += static_cast<std::int64_t>(bytes.size());
  // Handing over is work of the compute lane, so it belongs to the op that made the tensor.
  const Nanoseconds time = now();
  marks_[index] = {time, time};
  if (task.compute_task >= 0) marks_[static_cast<std::size_t>(task.compute_task)].end = time;
}

void Interpreter::receive(std::size_t index) {
  const std::int32_t m = plan_.tasks[index].index;
  const Message& message = program_.messages[static_cast<std::size_t>(m)];
  const std::int64_t bytes =
      messages_[static_cast<std::size_t>(m)].floats * static_cast<std::int64_t>(sizeof(float));
  tickets_[static_cast<std::size_t>(m)] =
      transport_.receive(message.from, message.kind, number(m), bytes);
  marks_[index].start = now();
  posted_.push_back(index);
}

std::span<const float> Interpreter::input(const Operand& operand) {
  if (operand.place == Place::None) return {};
  const auto index = static_cast<std::size_t>(operand.index);
  if (operand.place == Place::Local) return local_[index].floats();
  await(operand.index);
  const std::span<const std::byte> bytes = transport_.data(tickets_[index]);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<float> Interpreter::output(const Operand& operand) {
  if (operand.place == Place::None) return {};
  const auto index = static_cast<std::size_t>(operand.index);
  if (operand.place == Place::Local) return local_[index].floats();
  if (free_send_buffers_.empty()) reap();
  if (free_send_buffers_.empty()) {  // a slow peer: one more buffer rather than a wait
    free_send_buffers_.push_back(static_cast<std::int32_t>(send_buffers_.size()));
    send_buffers_.emplace_back(plan_.send_floats);
  }
  written_[index] = free_send_buffers_.back();
  free_send_buffers_.pop_back();
  return send_buffers_[static_cast<std::size_t>(written_[index])].floats(messages_[index].floats);
}

void Interpreter::release(const Operand& operand) {
  if (operand.place != Place::Message) return;
  transport_.release(tickets_[static_cast<std::size_t>(operand.index)]);
}

void Interpreter::await(std::int32_t message) {
  for (std::size_t i = 0; i < posted_.size(); ++i) {
    if (plan_.tasks[posted_[i]].index != message) continue;
    transport_.wait(tickets_[static_cast<std::size_t>(message)]);
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
    const auto message = static_cast<std::size_t>(plan_.tasks[posted_[i]].index);
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
