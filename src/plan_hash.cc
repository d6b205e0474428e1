#include "penstock/program.h"

namespace penstock {
namespace {

// FNV-1a over 32-bit words.
class Hash {
 public:
  void add(std::int32_t word) {
    value_ = (value_ ^ static_cast<std::uint32_t>(word)) * 0x100000001b3ULL;
  }
  void add(OpKind kind) { add(static_cast<std::int32_t>(kind)); }
  void add_size(std::size_t size) { add(static_cast<std::int32_t>(size)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

void add_computes(Hash& hash, const Program& program) {
  hash.add_size(program.computes.size());
  for (const Compute& compute : program.computes) {
    hash.add(compute.op.kind);
    hash.add(compute.op.stage);
    hash.add(compute.op.microbatch);
    hash.add(compute.op.slice);
    hash.add(compute.actor);
    hash.add(compute.awaits);
    hash.add(compute.room);
    hash.add(compute.overlaps_previous ? 1 : 0);
  }
}

void add_messages(Hash& hash, const Program& program) {
  hash.add_size(program.messages.size());
  for (const Message& message : program.messages) {
    hash.add(message.producer);
    hash.add(message.consumer);
    hash.add(message.from);
    hash.add(message.to);
    hash.add(message.kind);
    hash.add(message.number);
  }
}

void add_pipeline(Hash& hash, const Pipeline& pipeline) {
  for (const Stage& stage : pipeline.stages) {
    hash.add(stage.actor);
    hash.add(stage.part);
  }
  for (const Route& route : pipeline.routes) {
    hash.add_size(route.size());
    for (const std::int32_t stage : route) hash.add(stage);
  }
  for (const Microbatch& microbatch : pipeline.microbatches) {
    hash.add(microbatch.route);
    hash.add(microbatch.sequences);
    hash.add_size(microbatch.slice_tokens.size());
    for (const std::int32_t tokens : microbatch.slice_tokens) hash.add(tokens);
  }
}

void add_learning(Hash& hash, const Learning& learning) {
  hash.add(static_cast<std::int32_t>(learning.kind));
  hash.add(learning.window);
  hash.add(learning.stride);
  hash.add(static_cast<std::int32_t>(learning.combine));
  hash.add(static_cast<std::int32_t>(learning.aux));
  hash.add(learning.queue_capacity);
}

}  // namespace

std::uint64_t plan_hash(const Program& program) {
  Hash hash;
  add_computes(hash, program);
  add_messages(hash, program);
  for (const std::vector<Action>& actions : program.actions) {
    hash.add_size(actions.size());
    for (const Action& action : actions) {
      hash.add(static_cast<std::int32_t>(action.kind));
      hash.add(action.index);
    }
  }
  add_pipeline(hash, program.schedule.pipeline);
  add_learning(hash, program.schedule.pipeline.learning);
  for (const std::vector<std::int32_t>& group : program.shared) {
    hash.add_size(group.size());
    for (const std::int32_t stage : group) hash.add(stage);
  }
  return hash.value();
}

}  // namespace penstock
