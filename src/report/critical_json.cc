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

Json transfer_json(const Transfer& transfer) {
  return {{"transfer", label(transfer)},
          {"actor", transfer.from},
          {"to", transfer.to},
          {"start_s", to_s(transfer.start)},
          {"end_s", to_s(transfer.end)}};
}

Json spans_json(const Span& first, const Span& last, std::size_t links) {
  Json entry = {{"op", label(first)}, {"actor", first.actor}};
  if (links > 1) {
    entry["last"] = label(last);
    entry["links"] = links;
  }
  entry["start_s"] = to_s(first.start);
  entry["end_s"] = to_s(last.end);
  return entry;
}

}  // namespace

Json critical_path_json(const Timeline& timeline) {
  const std::vector<CriticalLink> path = critical_path(timeline);
  const bool shorten = path.size() > kLongestInFull;
  Json list = Json::array();
  for (std::size_t i = 0; i < path.size();) {
    const Span* first = span_of(timeline, path[i]);
    if (first == nullptr) {
      list.push_back(transfer_json(timeline.transfers[static_cast<std::size_t>(path[i].transfer)]));
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    const Span* last = first;
    for (; shorten && end < path.size(); ++end) {
      const Span* next = span_of(timeline, path[end]);
      if (next == nullptr || next->actor != first->actor) break;
      last = next;
    }
    list.push_back(spans_json(*first, *last, end - i));
    i = end;
  }
  return list;
}

}  // namespace penstock
