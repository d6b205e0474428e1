// File: transports.h. A schedule's lowering policies against the transports that programs run on:
// `penstock check --transports`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "penstock/deadlock.h"
#include "penstock/lowering.h"

namespace penstock {

struct TransportTrial {
  std::string_view lowering;
  std::string_view transport;
  TransportVerdict verdict;
  std::vector<std::string> sentences;  // explain()
};

// Every policy with every kind of transport, policy by policy. `in_file`: the program as a file has
// it (read_program), if it has one: tried first, as "file", and what Deferred defers, as torch
// does. REQUIRES: check(schedule).empty().
//   say(transports_table(try_transports(schedule, lowering_policies())));
std::vector<TransportTrial> try_transports(const Schedule& schedule,
                                           std::span<const LoweringPolicy> policies,
                                           const std::optional<Program>& in_file = std::nullopt);

// A row per policy, a column per transport: "ok", "deadlock", or how many queues are out of order.
std::string transports_table(const std::vector<TransportTrial>& trials);
// Why, for each trial that is not fine.
std::string transports_reasons(const std::vector<TransportTrial>& trials);
// [{"lowering", "transport", "verdict": "ok" | "deadlock" | "out of order", "queues", "what"}]:
// `queues` out of order, `what` the sentences, null when fine.
nlohmann::ordered_json transports_json(const std::vector<TransportTrial>& trials);

}  // namespace penstock
