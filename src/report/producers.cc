#include "report/producers.h"

#include <algorithm>
#include <tuple>

namespace penstock {

std::vector<std::int32_t> producers(const Timeline& timeline) {
  struct Ran {
    std::int32_t actor;
    Op op;
    std::int32_t span;
    auto key() const { return std::tie(actor, op); }
  };
  std::vector<Ran> ran;
  ran.reserve(timeline.spans.size());
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    if (span.kind != ActionKind::Compute) continue;
    ran.push_back({span.actor, span.op, static_cast<std::int32_t>(i)});
  }
  const auto before = [](const Ran& a, const Ran& b) { return a.key() < b.key(); };
  std::sort(ran.begin(), ran.end(), before);

  std::vector<std::int32_t> result;
  result.reserve(timeline.transfers.size());
  for (const Transfer& transfer : timeline.transfers) {
    const Ran wanted{transfer.from, transfer.op, -1};
    const auto found = std::lower_bound(ran.begin(), ran.end(), wanted, before);
    const bool same = found != ran.end() && found->key() == wanted.key();
    result.push_back(same ? found->span : -1);
  }
  return result;
}

}  // namespace penstock
