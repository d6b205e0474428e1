#include "penstock/fair_rates.h"

#include <algorithm>
#include <limits>

#include "penstock/index.h"

namespace penstock {
namespace {

// What the flows whose rate is settled leave of a link, and how many others pass it.
struct Rest {
  double capacity = 0;
  std::int32_t flows = 0;
  double share() const { return std::max(0.0, capacity) / flows; }
};

std::vector<Rest> unshared(std::span<const double> capacity, std::span<const FlowOnLinks> flows) {
  std::vector<Rest> links;
  for (const double of_link : capacity) links.push_back({.capacity = of_link});
  for (const FlowOnLinks& flow : flows) {
    for (const std::int32_t link : flow.links) ++links[index(link)].flows;
  }
  return links;
}

// What the flow gets if nobody else gets less than the narrowest of its links can give each.
double share_of(const FlowOnLinks& flow, std::span<const Rest> links) {
  double share = flow.limit;
  for (const std::int32_t link : flow.links) share = std::min(share, links[index(link)].share());
  return share;
}

}  // namespace

std::vector<double> fair_rates(std::span<const double> capacity,
                               std::span<const FlowOnLinks> flows) {
  std::vector<Rest> links = unshared(capacity, flows);
  std::vector<double> rates(flows.size(), 0);
  std::vector<std::size_t> open(flows.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  while (!open.empty()) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : open) {
      rates[i] = share_of(flows[i], links);
      least = std::min(least, rates[i]);
    }
    // Those at the least rate cannot get more: the rest share what they leave.
    const auto settled =
        std::partition(open.begin(), open.end(), [&](std::size_t i) { return rates[i] > least; });
    for (auto i = settled; i != open.end(); ++i) {
      for (const std::int32_t link : flows[*i].links) {
        links[index(link)].capacity -= least;
        --links[index(link)].flows;
      }
    }
    open.erase(settled, open.end());
  }
  return rates;
}

}  // namespace penstock
