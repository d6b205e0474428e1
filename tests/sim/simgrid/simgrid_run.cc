#include "simgrid_run.h"

#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "penstock/index.h"

namespace penstock {
namespace {

namespace s4u = simgrid::s4u;
using Pair = std::pair<std::int32_t, std::int32_t>;

// A network whose times follow from bytes and bandwidths alone: no factors, no protocol.
constexpr const char* kPlainNetwork[] = {"network/model:CM02",       "network/bandwidth-factor:1",
                                         "network/latency-factor:1", "network/weight-S:0",
                                         "network/TCP-gamma:1e30",   "network/crosstraffic:0",
                                         "surf/precision:1e-9",      "contexts/stack-size:128"};

const MessageCost& boundary_of(const Program& program, const CostTable& costs,
                               const Message& message) {
  const std::int32_t by = message.kind == OpKind::Forward ? message.producer : message.consumer;
  return costs.stages[index(program.computes[index(by)].op.stage)].message;
}

class Simulation {
 public:
  Simulation(const Program& program, const CostTable& costs) : program_(program), costs_(costs) {
    build_platform();
    for (std::size_t i = 0; i < program.messages.size(); ++i) {
      const auto number = static_cast<std::int32_t>(i);
      arrived_.push_back(s4u::Semaphore::create(0));
      sent_[{program.messages[i].from, program.messages[i].to}];
      start(program.messages[i].to, [this, number] { carry(number); })->daemonize();
    }
    for (auto& [channel, sent] : sent_) {
      sent.ready = s4u::Semaphore::create(0);
      const Pair pair = channel;
      start(pair.first, [this, pair] { send_all(pair); })->daemonize();
    }
    for (std::size_t i = 0; i < program.actions.size(); ++i) {
      const auto actor = static_cast<std::int32_t>(i);
      start(actor, [this, actor] { work(actor); });
    }
  }

  double makespan() const { return makespan_; }

 private:
  // The messages of a channel, one behind the other.
  struct Sent {
    std::vector<std::int32_t> queue = {};
    s4u::SemaphorePtr ready = nullptr;
  };

  template <typename Body>
  s4u::ActorPtr start(std::int32_t actor, Body body) {
    return s4u::Actor::create("actor", hosts_[index(actor)], body);
  }

  void build_platform() {
    auto* zone = s4u::create_full_zone("cluster");
    for (std::int32_t i = 0; i < program_.schedule.pipeline.actors; ++i) {
      hosts_.push_back(zone->create_host("actor" + std::to_string(i), 1e9)->seal());
    }
    std::map<Pair, std::vector<s4u::LinkInRoute>> routes;
    for (const Message& message : program_.messages) {
      const Pair pair{message.from, message.to};
      if (routes.contains(pair)) continue;
      routes[pair].emplace_back(
          make_link(zone, boundary_of(program_, costs_, message).bytes_per_s));
    }
    for (const SharedLink& link : costs_.links) {
      const s4u::Link* made = make_link(zone, link.bytes_per_s);
      for (const auto& channel : link.channels) {
        if (routes.contains(channel)) routes[channel].emplace_back(made);
      }
    }
    for (const auto& [pair, links] : routes) {
      zone->add_route(hosts_[index(pair.first)]->get_netpoint(),
                      hosts_[index(pair.second)]->get_netpoint(), nullptr, nullptr, links, false);
    }
    zone->seal();
  }

  s4u::Link* make_link(s4u::NetZone* zone, double bytes_per_s) {
    auto* link = zone->create_link("link" + std::to_string(links_++), bytes_per_s);
    link->set_latency(0);
    link->seal();
    return link;
  }

  static s4u::Mailbox* mailbox(std::int32_t message) {
    return s4u::Mailbox::by_name("message" + std::to_string(message));
  }

  void send_all(const Pair& channel) {
    Sent& sent = sent_.at(channel);
    for (std::size_t i = 0;; ++i) {
      sent.ready->acquire();
      const std::int32_t message = sent.queue[i];
      const MessageCost& cost = boundary_of(program_, costs_, program_.messages[index(message)]);
      mailbox(message)->put(&sent, static_cast<std::uint64_t>(cost.bytes));
    }
  }

  void carry(std::int32_t message) {
    mailbox(message)->get<Sent>();
    s4u::this_actor::sleep_for(
        to_s(boundary_of(program_, costs_, program_.messages[index(message)]).latency));
    arrived_[index(message)]->release();
  }

  void work(std::int32_t actor) {
    for (const Action& action : program_.actions[index(actor)]) {
      if (action.kind == ActionKind::Send) {
        Sent& sent = sent_.at({actor, program_.messages[index(action.index)].to});
        sent.queue.push_back(action.index);
        sent.ready->release();
      } else if (action.kind == ActionKind::Compute) {
        const Compute& compute = program_.computes[index(action.index)];
        if (compute.awaits >= 0) arrived_[index(compute.awaits)]->acquire();
        s4u::this_actor::sleep_for(to_s(costs_.duration(compute.op)));
        makespan_ = std::max(makespan_, s4u::Engine::get_clock());
      }
    }
  }

  const Program& program_;
  const CostTable& costs_;
  std::vector<s4u::Host*> hosts_;
  std::map<Pair, Sent> sent_;
  std::vector<s4u::SemaphorePtr> arrived_;
  std::size_t links_ = 0;
  double makespan_ = 0;
};

double run_here(const Program& program, const CostTable& costs) {
  std::string name = "simgrid";
  std::string quiet = "--log=root.threshold:warning";
  char* arguments[] = {name.data(), quiet.data(), nullptr};
  int count = 2;
  s4u::Engine engine(&count, arguments);
  for (const char* setting : kPlainNetwork) s4u::Engine::set_config(setting);
  const Simulation simulation(program, costs);
  engine.run();
  return simulation.makespan();
}

// In the child, which must not come back into the parent's tests.
[[noreturn]] void run_and_tell(const Program& program, const CostTable& costs, int end) {
  try {
    const double makespan = run_here(program, costs);
    _exit(write(end, &makespan, sizeof makespan) == sizeof makespan ? 0 : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "SimGrid: %s\n", error.what());
    _exit(1);
  }
}

}  // namespace

double simgrid_makespan(const Program& program, const CostTable& costs) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    run_and_tell(program, costs, ends[1]);
  }
  close(ends[1]);
  double makespan = std::numeric_limits<double>::quiet_NaN();
  if (read(ends[0], &makespan, sizeof makespan) != sizeof makespan) makespan = -1;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? makespan : -1;
}

}  // namespace penstock
