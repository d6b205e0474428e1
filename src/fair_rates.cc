#include "penstock/fair_rates.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "penstock/index.h"

namespace penstock {
namespace {

struct Load {
  double left = 0;        // capacity not yet given away
  std::int32_t open = 0;  // flows that still grow
  std::vector<std::size_t> flows = {};
  double share() const { return std::max(0.0, left) / open; }
};

// The links, and behind them one for each limit.
class Links {
 public:
  Links(std::span<const double> capacity, std::span<const FlowOnLinks> flows) : on_(flows.size()) {
    for (const double of_link : capacity) loads_.push_back({.left = of_link});
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
      for (const std::int32_t link : flows[flow].links) pass(flow, index(link));
      if (std::isinf(flows[flow].limit)) continue;
      loads_.push_back({.left = flows[flow].limit});
      pass(flow, loads_.size() - 1);
    }
    for (std::size_t link = 0; link < loads_.size(); ++link) {
      if (loads_[link].open > 0) by_share_.emplace(loads_[link].share(), link);
    }
  }

  // What no link holds back has no limit.
  std::vector<double> fill() {
    std::vector<double> rates(on_.size(), std::numeric_limits<double>::infinity());
    while (!by_share_.empty()) {
      const auto [rate, fullest] = *by_share_.begin();
      for (const std::size_t flow : loads_[fullest].flows) {
        if (!std::isinf(rates[flow])) continue;
        rates[flow] = rate;
        for (const std::size_t link : on_[flow]) settle(link, rate);
      }
    }
    return rates;
  }

 private:
  void pass(std::size_t flow, std::size_t link) {
    ++loads_[link].open;
    loads_[link].flows.push_back(flow);
    on_[flow].push_back(link);
  }

  void settle(std::size_t link, double rate) {
    Load& load = loads_[link];
    by_share_.erase({load.share(), link});
    load.left -= rate;
    if (--load.open > 0) by_share_.emplace(load.share(), link);
  }

  std::vector<Load> loads_;
  std::vector<std::vector<std::size_t>> on_;           // by flow: its links
  std::set<std::pair<double, std::size_t>> by_share_;  // of links with flows that still grow
};

}  // namespace

std::vector<double> fair_rates(std::span<const double> capacity,
                               std::span<const FlowOnLinks> flows) {
  return Links(capacity, flows).fill();
}

}  // namespace penstock
