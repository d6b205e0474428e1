// File: costs.h. How long each op takes and how many bytes each message carries.
//
// One format, whatever the source: given by hand (--costs, --costs-file, the experiment's "costs"),
// measured (penstock profile), or estimated from a model. Times are integer nanoseconds inside and
// milliseconds in files.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/error.h"
#include "penstock/schedule.h"

namespace penstock {

using Nanoseconds = std::int64_t;

// No single time or message may take longer (11 days): readers refuse it, so that sums stay far
// from overflow.
inline constexpr double kLongestMs = 1e9;

// Nearest nanosecond. REQUIRES: between 0 and kLongestMs (readers check before).
Nanoseconds from_ms(double milliseconds);
constexpr double to_ms(Nanoseconds t) {
  return static_cast<double>(t) * 1e-6;
}
constexpr double to_s(Nanoseconds t) {
  return static_cast<double>(t) * 1e-9;
}

// A transfer takes latency + bytes / bytes_per_s. The latency is pure delay; the second part
// occupies the directed channel between two actors. bytes_per_s 0: bandwidth without limit.
struct MessageCost {
  std::int64_t bytes = 0;  // of one message: of one slice, where microbatches are sliced
  Nanoseconds latency = 0;
  double bytes_per_s = 0;
  // Bytes of each message, instead of `bytes`: one per [microbatch][slice], or one per slice
  // ([0][slice] with microbatch_varies false); empty: `bytes` for all.
  std::vector<std::vector<std::int64_t>> varied = {};
  bool microbatch_varies = false;
  std::int64_t bytes_of(std::int32_t microbatch, std::int32_t slice) const;
  std::int64_t largest() const;                             // bytes of the largest message
  Nanoseconds occupancy(std::int64_t message_bytes) const;  // rounded to nanoseconds
  bool operator==(const MessageCost&) const = default;
};

// The duration of one kind of op on one stage: one value for all, or one per [microbatch][slice],
// or one per slice ([0][slice] with microbatch_varies false).
struct Duration {
  Nanoseconds base = 0;
  std::vector<std::vector<Nanoseconds>> varied = {};  // empty: base for every op
  bool microbatch_varies = false;
  Nanoseconds at(std::int32_t microbatch, std::int32_t slice) const;
  bool operator==(const Duration&) const = default;
};

struct StageCosts {
  std::array<std::optional<Duration>, kPassKinds> op;  // by OpKind; absent: not given
  Nanoseconds update = 0;                              // optimizer step of this stage
  Nanoseconds reduce = 0;                              // gradient reduction, if the stage is shared
  // The boundary behind this stage: its activation forward, the gradient of it backward.
  MessageCost message;
  std::int64_t activation_bytes = 0;  // kept from F to B or W, per microbatch (all slices)
  // What is kept from F to R of that, where there is an R; absent: the stage's input, which is the
  // message over the boundary in front of it.
  std::optional<std::int64_t> kept_bytes;
  // What is left of activation_bytes from I to W, where the backward is split; no more than those.
  // Absent: all of them. The M_W of M_B in the zero-bubble paper (arXiv 2401.10241).
  std::optional<std::int64_t> left_bytes;
  std::int64_t weight_bytes = 0;  // weights, gradients and optimizer state
  bool operator==(const StageCosts&) const = default;
};

// A link that the messages between several pairs of actors pass: a NIC, a switch, an uplink. What
// is on it at one time gets max-min fair shares of its bandwidth; a message alone gets what its
// boundary gives (MessageCost).
struct SharedLink {
  std::string name;                                             // for people
  double bytes_per_s = 0;                                       // above 0
  std::vector<std::pair<std::int32_t, std::int32_t>> channels;  // from, to: actors
  bool operator==(const SharedLink&) const = default;
};

struct CostTable {
  std::vector<StageCosts> stages;      // one per stage of the schedule
  std::vector<SharedLink> links = {};  // shared under P2p::Async alone
  // Duration of any overlapped pair; absent: the sum of its ops.
  std::optional<Nanoseconds> overlap_fb;
  Nanoseconds global_norm = 0;  // the step-end exchange of norms
  // What the times were measured on, as the "machine" object of the file ("" when not measured):
  // BLAS core, device, versions. Costs of different machines must not be mixed.
  std::string machine;

  // REQUIRES: missing_costs found nothing for the op's kind. B left out is I + W.
  Nanoseconds duration(const Op& op) const;
  bool operator==(const CostTable&) const = default;
};

// A table with the same costs on each of `stages` stages.
CostTable uniform_costs(std::int32_t stages, const StageCosts& costs);

// The costs of each stage, where `costs` may be those of one copy of the model: stages that hold
// mirrored copies of a part cost the same. A table of another size stays as it is, for
// missing_costs() to tell.
CostTable costs_of_copies(CostTable costs, const Pipeline& pipeline);

// Costs of whole actors shared out over the schedule's stages, so that schedules with different
// numbers of chunks and slices do the same work: a stage takes 1/n of its actor's times and bytes
// where n stages of its route sit on that actor, a slice its share of the microbatch's tokens, in
// time and in message bytes. Latency is a hop's and stays.
// REQUIRES: by_actor.stages has one entry per actor; the pipeline is that of a checked schedule.
//   share_costs(uniform_costs(4, whole), generate("interleaved_1f1b", {.actors = 4, .chunks = 2,
//   .microbatches = 8}).pipeline): a chunk's forward takes half of whole's
CostTable share_costs(const CostTable& by_actor, const Pipeline& pipeline);

// StageCosts::left_bytes, filled in.
std::int64_t left_bytes(const StageCosts& costs);

// StageCosts::kept_bytes of every stage, what it leaves open filled in; no more than the stage's
// activation_bytes. REQUIRES: one entry per stage.
std::vector<std::int64_t> kept_bytes(const CostTable& costs, const Pipeline& pipeline);

// "F=1,B=2,I=1,W=1,latency=0" (ms per stage op and per hop) with optional R= (ms), bytes=,
// bandwidth= (bytes per second), update=, reduce=, norm= (ms), activation=, kept=, left=, weight=
// (bytes) and overlap= (ms). Throws Error with every entry at fault: unknown or repeated key, not a
// number, negative, infinite, huge; and for left= above activation=.
CostTable parse_costs(std::string_view text, std::int32_t stages);

// The costs file of the command-line contract. `where` names it in messages. Throws Error with all
// problems (a JSON pointer each).
CostTable read_costs(std::string_view json, const std::string& where);
std::string write_costs(const CostTable& costs);

// What keeps `costs` from pricing `schedule`: too few or too many stages, a kind that the schedule
// uses and a stage does not give (I or W is never guessed from B), values per microbatch or slice
// that are fewer or more than the schedule's; links between actors that the schedule lacks.
std::vector<Problem> missing_costs(const CostTable& costs, const Schedule& schedule);

}  // namespace penstock
