// File: shared_gradients.h. The gradients of weights that several stages hold, summed: a tied
// embedding at both ends of a route, a part in all of its mirrored copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "penstock/program.h"
#include "transport/transport.h"

namespace penstock {

// Channels over which actors exchange the gradients of shared weights, in pieces: kind
// BackwardWeight, one per directed pair of actors of a group.
std::vector<Channel> shared_channels(const Program& program);

// REQUIRES: all references outlive the object. One thread.
class SharedGradients {
 public:
  SharedGradients(const Program& program, Device& device, Transport& transport);

  // Collective among the actors of Program::shared[group]: every stage of it gets the sum. Each
  // actor gathers all contributions and adds them in stage order, so all copies agree to the bit.
  void reduce(std::int32_t group);

 private:
  using Parts = std::vector<std::span<const float>>;  // of one piece, in stage order
  struct Transfers {
    std::vector<Ticket> sends;
    std::vector<Ticket> receives;
  };

  // An own stage's share of what the group holds in common.
  std::span<float> share(std::span<const std::int32_t> group, std::int32_t stage);
  void reduce_piece(std::span<const std::int32_t> stages, std::span<const std::span<float>> shares,
                    std::size_t offset, std::size_t floats);
  // Sends the own parts and fills in the others'. The transfers are still under way.
  Transfers exchange(std::span<const std::int32_t> stages, Parts& parts, std::size_t floats);
  void add_up(const Parts& parts);
  bool is_mine(std::int32_t stage) const;

  const Program& program_;
  Device& device_;
  Transport& transport_;
  std::vector<float> sum_;          // of a piece
  std::vector<std::int64_t> sent_;  // pieces, by actor, over the whole run
  std::vector<std::int64_t> received_;
};

}  // namespace penstock
