#include "report/critical_json.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "penstock/metrics.h"
#include "report/labels.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestInFull = 10'000;

const Span* span_of(const Timeline& timeline, const CriticalLink& link) {
  return link.span < 0 ? nullptr : &timeline.spans[static_cast<std::size_t>(link.span)];
}

// Member by member: an initializer list copies each value, and a path has thousands of links.
Json transfer_json(const Transfer& transfer, const CriticalLink& link) {
  Json::object_t entry;
  entry.reserve(5);
  entry.emplace("transfer", label(transfer));
  entry.emplace("actor", transfer.from);
  entry.emplace("to", transfer.to);
  entry.emplace("start_s", to_s(link.start));
  entry.emplace("end_s", to_s(link.end));
  return entry;
}

// Links first..last of one actor.
Json spans_json(const Timeline& timeline, const CriticalLink& first, const CriticalLink& last,
                std::size_t links) {
  const Span& span = *span_of(timeline, first);
  Json::object_t entry;
  entry.reserve(6);
  entry.emplace("op", label(span));
  entry.emplace("actor", span.actor);
  if (links > 1) {
    entry.emplace("last", label(*span_of(timeline, last)));
    entry.emplace("links", links);
  }
  entry.emplace("start_s", to_s(first.start));
  entry.emplace("end_s", to_s(last.end));
  return entry;
}

// Where the run of links that starts at `from` ends: the same actor, without a gap.
std::size_t end_of_run(const Timeline& timeline, const std::vector<CriticalLink>& path,
                       std::size_t from) {
  const std::int32_t actor = span_of(timeline, path[from])->actor;
  std::size_t end = from + 1;
  while (end < path.size()) {
    const Span* next = span_of(timeline, path[end]);
    if (next == nullptr || next->actor != actor || path[end].start != path[end - 1].end) break;
    ++end;
  }
  return end;
}

}  // namespace

Json critical_path_json(const Timeline& timeline) {
  const std::vector<CriticalLink> path = critical_path(timeline);
  const bool shorten = path.size() > kLongestInFull;
  Json list = Json::array();
  for (std::size_t i = 0; i < path.size();) {
    if (path[i].span < 0) {
      const Transfer& transfer = timeline.transfers[static_cast<std::size_t>(path[i].transfer)];
      list.push_back(transfer_json(transfer, path[i]));
      ++i;
      continue;
    }
    const std::size_t end = shorten ? end_of_run(timeline, path, i) : i + 1;
    list.push_back(spans_json(timeline, path[i], path[end - 1], end - i));
    i = end;
  }
  return list;
}

}  // namespace penstock
