#include "penstock/transports.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/text_table.h"

namespace penstock {
namespace {

std::string_view word(const TransportVerdict& verdict) {
  if (verdict.fine()) return "ok";
  return verdict.ring.empty() ? "out of order" : "deadlock";
}

Program lowered(const Schedule& schedule, const LoweringPolicy& policy,
                const std::optional<Program>& in_file) {
  if (!in_file || policy.placement != MessagePlacement::Deferred) {
    return lower(schedule, {.placement = policy.placement});
  }
  Program program = *in_file;
  policy.place(program);
  return program;
}

void try_program(std::string_view lowering, const Program& program,
                 std::vector<TransportTrial>& trials) {
  for (const TransportRow& transport : transport_kinds()) {
    TransportVerdict verdict = check_transport(program, transport.kind);
    std::vector<std::string> sentences = explain(program, verdict);
    trials.push_back({lowering, transport.name, std::move(verdict), std::move(sentences)});
  }
}

}  // namespace

std::vector<TransportTrial> try_transports(const Schedule& schedule,
                                           std::span<const LoweringPolicy> policies,
                                           const std::optional<Program>& in_file) {
  std::vector<TransportTrial> trials;
  if (in_file) try_program("file", *in_file, trials);
  for (const LoweringPolicy& policy : policies) {
    try_program(policy.name, lowered(schedule, policy, in_file), trials);
  }
  return trials;
}

namespace {

// What the words in the table stand for; nothing where all is well.
std::string transports_legend(const std::vector<TransportTrial>& trials) {
  const auto has = [&trials](std::string_view what) {
    return std::any_of(trials.begin(), trials.end(),
                       [what](const TransportTrial& trial) { return word(trial.verdict) == what; });
  };
  std::string text;
  if (has("out of order")) {
    text += "N differ: queues whose two ends disagree, so that one tensor is taken for another\n";
  }
  if (has("deadlock")) text += "deadlock: actors that wait for each other in a ring\n";
  const bool several = !text.empty() && trials.front().lowering != trials.back().lowering;
  return several ? text + "who waits for whom, and where they differ: --lowering POLICY\n" : text;
}

}  // namespace

std::string transports_table(const std::vector<TransportTrial>& trials) {
  std::vector<std::string> header = {"lowering"};
  for (const TransportRow& transport : transport_kinds()) header.emplace_back(transport.name);
  const std::size_t columns = header.size();
  TextTable table(std::move(header));
  std::vector<std::string> row;
  for (const TransportTrial& trial : trials) {
    if (row.empty()) row.emplace_back(trial.lowering);
    const std::size_t queues = trial.verdict.queues.size();
    row.push_back(queues > 0 ? fmt::format("{} differ", queues) : std::string(word(trial.verdict)));
    if (row.size() == columns) table.add(std::exchange(row, {}));
  }
  return table.text() + transports_legend(trials);
}

std::string transports_reasons(const std::vector<TransportTrial>& trials) {
  std::string text;
  for (const TransportTrial& trial : trials) {
    if (trial.verdict.fine()) continue;
    text += fmt::format("{}, {}: {}\n", trial.lowering, trial.transport, word(trial.verdict));
    for (const std::string& sentence : trial.sentences) text += fmt::format("  {}\n", sentence);
  }
  return text;
}

nlohmann::ordered_json transports_json(const std::vector<TransportTrial>& trials) {
  auto list = nlohmann::ordered_json::array();
  for (const TransportTrial& trial : trials) {
    nlohmann::ordered_json entry = {{"lowering", trial.lowering},
                                    {"transport", trial.transport},
                                    {"verdict", word(trial.verdict)},
                                    {"queues", trial.verdict.queues.size()},
                                    {"what", nullptr}};
    if (!trial.verdict.fine()) entry["what"] = fmt::format("{}", fmt::join(trial.sentences, "; "));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace penstock
