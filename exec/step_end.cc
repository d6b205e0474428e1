#include "step_end.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "optimizer/learning_rate.h"

namespace penstock {
namespace {

constexpr std::size_t kPiece = 1 << 16;  // floats of a shared gradient per message
constexpr OpKind kSharedKind = OpKind::BackwardWeight;

// The directed pairs of a group's owners in one global order: two actors never wait for each
// other, even if every transfer is a rendezvous.
std::vector<std::pair<std::int32_t, std::int32_t>> owner_pairs(
    const Pipeline& pipeline, std::span<const std::int32_t> group) {
  std::vector<std::int32_t> owners;
  for (const std::int32_t stage : group) {
    owners.push_back(pipeline.stages[static_cast<std::size_t>(stage)].actor);
  }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::size_t a = 0; a < owners.size(); ++a) {
    for (std::size_t b = a + 1; b < owners.size(); ++b) {
      pairs.emplace_back(owners[a], owners[b]);
      pairs.emplace_back(owners[b], owners[a]);
    }
  }
  return pairs;
}

std::vector<std::int32_t> in_stage_order(std::vector<std::int32_t> group) {
  std::sort(group.begin(), group.end());
  return group;
}

std::vector<std::int32_t> stages_of(const Pipeline& pipeline, std::int32_t actor) {
  std::vector<std::int32_t> stages;
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    if (pipeline.stages[s].actor == actor) stages.push_back(static_cast<std::int32_t>(s));
  }
  return stages;
}

template <typename T>
void put(std::span<std::byte> block, std::size_t offset, const T& value) {
  std::memcpy(block.subspan(offset).data(), &value, sizeof(T));
}

template <typename T>
T get(std::span<const std::byte> block, std::size_t offset) {
  T value;
  std::memcpy(&value, block.subspan(offset).data(), sizeof(T));
  return value;
}

}  // namespace

std::vector<Channel> shared_channels(const Program& program) {
  const Pipeline& pipeline = program.schedule.pipeline;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> pending;
  for (const std::vector<std::int32_t>& group : program.shared) {
    for (const auto& pair : owner_pairs(pipeline, group)) {
      const auto sent = static_cast<std::int32_t>(
          std::count_if(group.begin(), group.end(), [&](std::int32_t stage) {
            return pipeline.stages[static_cast<std::size_t>(stage)].actor == pair.first;
          }));
      pending[pair] = std::max(pending[pair], sent);
    }
  }
  std::vector<Channel> channels;
  for (const auto& [pair, count] : pending) {
    channels.push_back({.from = pair.first,
                        .to = pair.second,
                        .kind = kSharedKind,
                        .bytes = kPiece * sizeof(float),
                        .pending = count});
  }
  return channels;
}

StepEnd::StepEnd(const RunPlan& plan, Device& device, Transport& transport)
    : plan_(plan),
      device_(device),
      transport_(transport),
      own_stages_(stages_of(plan.program.schedule.pipeline, transport.actor())),
      sum_(kPiece),
      sent_(static_cast<std::size_t>(transport.actors())),
      received_(static_cast<std::size_t>(transport.actors())) {
  std::uint64_t mine = 0;
  for (const std::int32_t stage : own_stages_) mine += device.squared_norms(stage).size();
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(transport.actors()));
  transport.all_gather(std::as_bytes(std::span(&mine, 1)),
                       std::as_writable_bytes(std::span(counts)));
  norms_per_actor_ = *std::max_element(counts.begin(), counts.end());
  const std::size_t losses = plan.program.schedule.pipeline.microbatches.size();
  block_.resize(sizeof(std::uint64_t) + losses * sizeof(double) +
                norms_per_actor_ * sizeof(TensorNorm));
  blocks_.resize(block_.size() * counts.size());
}

void StepEnd::begin_step(std::int64_t step) {
  step_ = step;
  record_ = {};
  record_.step = static_cast<std::int32_t>(step + 1);
  record_.learning_rate = learning_rate(plan_.train.optimizer, step, plan_.train.steps);
}

void StepEnd::reduce_gradients(std::int32_t group) {
  const std::vector<std::int32_t>& stages = plan_.program.shared[static_cast<std::size_t>(group)];
  std::size_t floats = 0;
  for (const std::int32_t stage : own_stages_) {
    if (std::count(stages.begin(), stages.end(), stage) == 0) continue;
    floats = device_.shared_gradient(stage).size();
  }
  for (std::size_t offset = 0; offset < floats; offset += kPiece) {
    exchange_piece(group, offset, std::min(kPiece, floats - offset));
  }
}

void StepEnd::exchange_piece(std::int32_t group, std::size_t offset, std::size_t floats) {
  const Pipeline& pipeline = plan_.program.schedule.pipeline;
  const std::vector<std::int32_t> stages =
      in_stage_order(plan_.program.shared[static_cast<std::size_t>(group)]);
  const auto owner = [&](std::int32_t s) {
    return pipeline.stages[static_cast<std::size_t>(s)].actor;
  };
  const std::int32_t me = transport_.actor();
  std::vector<std::span<const float>> parts(stages.size());  // in stage order
  std::vector<Ticket> sends;
  std::vector<Ticket> receives;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (owner(stages[i]) == me) {
      parts[i] = device_.shared_gradient(stages[i]).subspan(offset, floats);
    }
  }
  for (const auto& [from, to] : owner_pairs(pipeline, stages)) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (owner(stages[i]) != from) continue;
      if (from == me) {
        sends.push_back(transport_.send(to, kSharedKind, sent_[static_cast<std::size_t>(to)]++,
                                        std::as_bytes(parts[i])));
      } else if (to == me) {
        const std::int64_t number = received_[static_cast<std::size_t>(from)]++;
        const Ticket ticket = transport_.receive(from, kSharedKind, number,
                                                 static_cast<std::int64_t>(floats * sizeof(float)));
        transport_.wait(ticket);
        const std::span<const std::byte> bytes = transport_.data(ticket);
        parts[i] = {reinterpret_cast<const float*>(bytes.data()), floats};
        receives.push_back(ticket);
      }
    }
  }
  std::copy(parts[0].begin(), parts[0].end(), sum_.begin());
  for (std::size_t part = 1; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < floats; ++i) sum_[i] += parts[part][i];
  }
  for (const Ticket ticket : receives) transport_.release(ticket);
  for (const Ticket ticket : sends) transport_.wait(ticket);
  for (const std::int32_t stage : stages) {
    if (owner(stage) != me) continue;
    std::copy_n(sum_.begin(), floats, device_.shared_gradient(stage).subspan(offset).begin());
  }
}

void StepEnd::exchange_norms() {
  fill_block();
  transport_.all_gather(block_, blocks_);
  read_blocks();
}

// Block: number of norms, a loss per microbatch (of this actor's last stages), the norms.
void StepEnd::fill_block() {
  const Pipeline& pipeline = plan_.program.schedule.pipeline;
  std::size_t offset = sizeof(std::uint64_t);
  for (std::size_t k = 0; k < pipeline.microbatches.size(); ++k) {
    const Route& route = pipeline.routes[static_cast<std::size_t>(pipeline.microbatches[k].route)];
    const Stage& last = pipeline.stages[static_cast<std::size_t>(route.back())];
    const bool mine = last.actor == transport_.actor();
    put(block_, offset, mine ? device_.loss_sum(static_cast<std::int32_t>(k)) : 0.0);
    offset += sizeof(double);
  }
  std::uint64_t count = 0;
  for (const std::int32_t stage : own_stages_) {
    for (const TensorNorm& norm : device_.squared_norms(stage)) {
      put(block_, offset, norm);
      offset += sizeof(TensorNorm);
      ++count;
    }
  }
  assert(count <= norms_per_actor_ && "a stage has the same tensors in every step");
  put(block_, 0, count);
}

void StepEnd::read_blocks() {
  const Pipeline& pipeline = plan_.program.schedule.pipeline;
  const std::span<const std::byte> blocks(blocks_);
  const auto block_of = [&](std::int32_t actor) {
    return blocks.subspan(static_cast<std::size_t>(actor) * block_.size(), block_.size());
  };
  if (!device_.learns()) {
    record_.loss = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  double loss = 0;
  for (std::size_t k = 0; k < pipeline.microbatches.size(); ++k) {
    const Route& route = pipeline.routes[static_cast<std::size_t>(pipeline.microbatches[k].route)];
    const std::int32_t owner = pipeline.stages[static_cast<std::size_t>(route.back())].actor;
    const auto sum = get<double>(block_of(owner), sizeof(std::uint64_t) + k * sizeof(double));
    if (!std::isfinite(sum)) throw_bad_loss(k);
    loss += sum;
  }
  record_.loss = loss / (static_cast<double>(plan_.batch.global) * plan_.batch.sequence);

  // By tensor, so that one that two stages share counts once.
  std::map<std::int32_t, double> squared;
  const std::size_t first = sizeof(std::uint64_t) + pipeline.microbatches.size() * sizeof(double);
  for (std::int32_t actor = 0; actor < transport_.actors(); ++actor) {
    const auto count = get<std::uint64_t>(block_of(actor), 0);
    for (std::size_t i = 0; i < count; ++i) {
      const auto norm = get<TensorNorm>(block_of(actor), first + i * sizeof(TensorNorm));
      if (!std::isfinite(norm.squared)) {
        throw RunError(fmt::format("step {}", record_.step),
                       fmt::format("the gradient of tensor {} (on actor {}) is not finite",
                                   norm.tensor, actor),
                       "a lower learning rate or more warm-up steps may help");
      }
      squared[norm.tensor] = norm.squared;
    }
  }
  double sum = 0;
  for (const auto& [tensor, value] : squared) sum += value;
  record_.gradient_norm = std::sqrt(sum);
  gradient_scale_ = clip_scale(record_.gradient_norm, plan_.train.optimizer.clip);
}

void StepEnd::throw_bad_loss(std::size_t microbatch) const {
  const Pipeline& pipeline = plan_.program.schedule.pipeline;
  const auto route = static_cast<std::size_t>(pipeline.microbatches[microbatch].route);
  const std::int32_t stage = pipeline.routes[route].back();
  const Op op{
      .kind = OpKind::Forward, .stage = stage, .microbatch = static_cast<std::int32_t>(microbatch)};
  throw RunError(
      fmt::format("step {}", record_.step),
      fmt::format("the loss of microbatch {} is not a finite number (actor {}, op {})", microbatch,
                  pipeline.stages[static_cast<std::size_t>(stage)].actor, to_string(op)),
      "a lower learning rate or more warm-up steps may help");
}

void StepEnd::update(std::int32_t stage) {
  device_.update(stage, step_, record_.learning_rate, gradient_scale_);
}

}  // namespace penstock
