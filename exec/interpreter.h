// File: interpreter.h. Runs one actor's action list, action by action.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actor_plan.h"
#include "buffer.h"
#include "device/device.h"
#include "penstock/costs.h"
#include "penstock/execute.h"
#include "rooms.h"
#include "step_end.h"
#include "transport/transport.h"

namespace penstock {

// When each task of one step ran, in nanoseconds of the host's clock. Compute: the op and handing
// its result to the transport; no waits. Send: `start` is the hand-over. Receive: `end` is when the
// message was first seen to be there. AwaitRoom: the wait. ReduceGradients, GlobalNorm: from this
// actor's entry. Verdict: from when it was there, over all that a wrong update has run again.
struct Mark {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

// The constructor allocates what the plan needs (a slow peer may cost a send buffer more later).
// REQUIRES: `transport` is open, and all references outlive the object. One thread.
class Interpreter {
 public:
  Interpreter(const Program& program, const ActorPlan& plan, std::span<const MessagePlan> messages,
              Device& device, Transport& transport);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Runs step `step` (0, 1, ...: every call one more than the last) and fills one mark per task.
  // `step_end` runs the actions after the last op. Throws what device and transport throw.
  void run(std::int64_t step, StepEnd& step_end, std::span<Mark> marks);

  // Waits until all that was sent has left.
  void finish_sends();

  const Traffic& traffic() const { return traffic_; }

 private:
  struct Sending {
    Ticket ticket;
    std::int32_t buffer = -1;
  };

  bool pass(std::size_t at);
  void step_end_action(const Task& task, StepEnd& step_end);
  void verify(std::size_t at, PostValidation& validation);
  void run_again(std::size_t end);
  void compute(std::size_t at);
  void send(std::size_t at);
  void receive(std::size_t at);
  std::span<const float> input(const Operand& operand);
  std::span<float> output(const Operand& operand);
  void release(const Operand& operand);
  void await(std::int32_t message);
  void await_rest_of_pair(std::size_t at);
  void tell_start(std::size_t at);
  void arrived(std::size_t posted, Nanoseconds time);
  void poll();
  void reap();
  std::int64_t number(std::int32_t message) const;

  const Program& program_;
  const ActorPlan& plan_;
  std::span<const MessagePlan> messages_;
  Device& device_;
  Transport& transport_;
  Rooms rooms_;
  std::vector<Buffer> local_;
  std::vector<Buffer> send_buffers_;
  std::vector<std::int32_t> free_send_buffers_;
  std::vector<std::int32_t> written_;  // by message: the send buffer of its producer
  std::vector<Ticket> tickets_;        // by message: its receive
  std::vector<Sending> sending_;
  std::vector<std::size_t> posted_;  // Receive tasks whose message has not been seen yet
  std::span<Mark> marks_;            // of the step under way
  StepEnd* step_end_ = nullptr;      // likewise
  std::int64_t step_ = 0;
  std::int64_t rolled_back_ = 0;    // steps whose speculative part ran twice
  std::vector<Mark> second_marks_;  // of what runs twice: the first run's are kept
  Traffic traffic_;
};

}  // namespace penstock
