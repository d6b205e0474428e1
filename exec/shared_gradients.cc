#include "shared_gradients.h"

#include <algorithm>
#include <map>
#include <utility>

#include "penstock/index.h"

namespace penstock {
namespace {

constexpr std::size_t kPiece = 1 << 16;  // floats per message
constexpr OpKind kKind = OpKind::BackwardWeight;

std::int32_t owner(const Program& program, std::int32_t stage) {
  return program.schedule.pipeline.stages[index(stage)].actor;
}

// The directed pairs of a group's owners in one global order: two actors never wait for each
// other, even if every transfer is a rendezvous.
std::vector<std::pair<std::int32_t, std::int32_t>> owner_pairs(
    const Program& program, std::span<const std::int32_t> group) {
  std::vector<std::int32_t> owners;
  for (const std::int32_t stage : group) owners.push_back(owner(program, stage));
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

}  // namespace

std::vector<Channel> shared_channels(const Program& program) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> pending;
  for (const std::vector<std::int32_t>& group : program.shared) {
    for (const auto& pair : owner_pairs(program, group)) {
      const auto sent = static_cast<std::int32_t>(
          std::count_if(group.begin(), group.end(),
                        [&](std::int32_t stage) { return owner(program, stage) == pair.first; }));
      pending[pair] = std::max(pending[pair], sent);
    }
  }
  std::vector<Channel> channels;
  for (const auto& [pair, count] : pending) {
    channels.push_back({.from = pair.first,
                        .to = pair.second,
                        .kind = kKind,
                        .bytes = kPiece * sizeof(float),
                        .pending = count});
  }
  return channels;
}

SharedGradients::SharedGradients(const Program& program, Device& device, Transport& transport)
    : program_(program),
      device_(device),
      transport_(transport),
      sum_(program.shared.empty() ? 0 : kPiece),
      sent_(index(transport.actors())),
      received_(index(transport.actors())) {}

bool SharedGradients::is_mine(std::int32_t stage) const {
  return owner(program_, stage) == transport_.actor();
}

std::span<float> SharedGradients::share(std::span<const std::int32_t> group, std::int32_t stage) {
  const std::vector<Stage>& stages = program_.schedule.pipeline.stages;
  const auto part = [&](std::int32_t s) { return stages[index(s)].part; };
  const bool mirrored =
      std::ranges::all_of(group, [&](std::int32_t s) { return part(s) == part(stage); });
  return mirrored ? device_.gradients(stage) : device_.shared_gradient(stage);
}

void SharedGradients::reduce(std::int32_t group) {
  std::vector<std::int32_t> stages = program_.shared[index(group)];
  std::sort(stages.begin(), stages.end());
  std::vector<std::span<float>> shares(stages.size());  // empty: another actor's
  std::size_t floats = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!is_mine(stages[i])) continue;
    shares[i] = share(stages, stages[i]);
    floats = shares[i].size();
  }
  for (std::size_t offset = 0; offset < floats; offset += kPiece) {
    reduce_piece(stages, shares, offset, std::min(kPiece, floats - offset));
  }
}

void SharedGradients::reduce_piece(std::span<const std::int32_t> stages,
                                   std::span<const std::span<float>> shares, std::size_t offset,
                                   std::size_t floats) {
  Parts parts(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (is_mine(stages[i])) parts[i] = shares[i].subspan(offset, floats);
  }
  const Transfers transfers = exchange(stages, parts, floats);
  add_up(parts);
  for (const Ticket ticket : transfers.receives) transport_.release(ticket);
  // Before their source is overwritten.
  for (const Ticket ticket : transfers.sends) transport_.wait(ticket);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!is_mine(stages[i])) continue;
    std::copy_n(sum_.begin(), floats, shares[i].subspan(offset).begin());
  }
}

SharedGradients::Transfers SharedGradients::exchange(std::span<const std::int32_t> stages,
                                                     Parts& parts, std::size_t floats) {
  const std::int32_t me = transport_.actor();
  Transfers transfers;
  for (const auto& [from, to] : owner_pairs(program_, stages)) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (owner(program_, stages[i]) != from) continue;
      if (from == me) {
        transfers.sends.push_back(
            transport_.send(to, kKind, sent_[index(to)]++, std::as_bytes(parts[i])));
      } else if (to == me) {
        const Ticket ticket = transport_.receive(from, kKind, received_[index(from)]++,
                                                 static_cast<std::int64_t>(floats * sizeof(float)));
        transfers.receives.push_back(ticket);
        transport_.wait(ticket);
        const std::span<const std::byte> bytes = transport_.data(ticket);
        parts[i] = {reinterpret_cast<const float*>(bytes.data()), floats};
      }
    }
  }
  return transfers;
}

void SharedGradients::add_up(const Parts& parts) {
  std::copy(parts[0].begin(), parts[0].end(), sum_.begin());
  for (std::size_t part = 1; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < parts[part].size(); ++i) sum_[i] += parts[part][i];
  }
}

}  // namespace penstock
