#include "costs_links.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "penstock/pipeline.h"

namespace penstock {
namespace {

using Channel = std::pair<std::int32_t, std::int32_t>;

Channel read_channel(const JsonReader& channel) {
  if (!channel.is_array()) return {};
  const auto actor = [&](std::size_t end) {
    return static_cast<std::int32_t>(channel.at(end).as_integer({.max = kMostActors - 1}));
  };
  if (channel.size() == 2 && channel.value()[0] != channel.value()[1]) return {actor(0), actor(1)};
  channel.problem("not a pair of two actors", "[0, 1] is from actor 0 to actor 1");
  return {};
}

SharedLink read_link(const JsonReader& link) {
  if (!link.is_object()) return {};
  link.only({"name", "bytes_per_s", "channels"});
  SharedLink read{.name = link.text("name"),
                  .bytes_per_s = link.number("bytes_per_s", {.required = true, .min = 1}),
                  .channels = {}};
  const std::optional<JsonReader> channels = link.required("channels", "an array of [from, to]");
  if (!channels || !channels->is_array()) return read;
  std::set<Channel> seen;
  for (std::size_t i = 0; i < channels->size(); ++i) {
    read.channels.push_back(read_channel(channels->at(i)));
    if (!seen.insert(read.channels.back()).second && read.channels.back() != Channel{}) {
      channels->at(i).problem("the pair is given twice", "keep one of them");
    }
  }
  return read;
}

}  // namespace

std::vector<SharedLink> read_links(const JsonReader& costs) {
  std::vector<SharedLink> links;
  if (!costs.has("links") || !costs.at("links").is_array()) return links;
  const JsonReader list = costs.at("links");
  for (std::size_t i = 0; i < list.size(); ++i) links.push_back(read_link(list.at(i)));
  return links;
}

nlohmann::ordered_json written(const std::vector<SharedLink>& links) {
  auto list = nlohmann::ordered_json::array();
  for (const SharedLink& link : links) {
    list.push_back(
        {{"name", link.name}, {"bytes_per_s", link.bytes_per_s}, {"channels", link.channels}});
  }
  return list;
}

std::vector<Problem> link_misfits(const std::vector<SharedLink>& links, std::int32_t actors) {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const auto& [from, to] : links[i].channels) {
      if (std::max(from, to) < actors) continue;
      problems.push_back({fmt::format("costs, link {}", i),
                          fmt::format("from actor {} to actor {}: the schedule has {} actor{}",
                                      from, to, actors, actors == 1 ? "" : "s"),
                          fmt::format("actors are 0 to {}", actors - 1)});
      break;
    }
  }
  return problems;
}

}  // namespace penstock
