// Walks back from the last end: what did each start wait for?
#include <algorithm>
#include <numeric>
#include <optional>

#include "idle_walk.h"
#include "lanes.h"
#include "penstock/index.h"
#include "penstock/metrics.h"

namespace penstock {
namespace {

bool is_none(const CriticalLink& link) {
  return link.span < 0 && link.transfer < 0;
}

// What ends when, over all actors, in the order of time. Built only where a start is explained by
// neither its own lane nor its own input: a queue, a rendezvous, a norm exchange.
class Ends {
 public:
  explicit Ends(const Timeline& timeline) : timeline_(timeline) {
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const Span& span = timeline.spans[i];
      add({.span = static_cast<std::int32_t>(i), .start = span.start, .end = span.end});
    }
    for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
      const Transfer& transfer = timeline.transfers[i];
      add({.transfer = static_cast<std::int32_t>(i), .start = transfer.start, .end = transfer.end});
    }
    std::stable_sort(links_.begin(), links_.end(), before);
  }

  // What ended exactly at `time` on one of the two actors, or (-1) on any; none if nothing did.
  CriticalLink at(Nanoseconds time, std::int32_t actor, std::int32_t other) const {
    const auto [first, last] =
        std::equal_range(links_.begin(), links_.end(), CriticalLink{.end = time}, before);
    const auto found = std::find_if(first, last, [&](const CriticalLink& link) {
      return actor < 0 || touches(link, actor) || touches(link, other);
    });
    return found == last ? CriticalLink{} : *found;
  }

  // The last to end at `time` or before it, on any actor.
  CriticalLink last_by(Nanoseconds time) const {
    const auto after =
        std::upper_bound(links_.begin(), links_.end(), CriticalLink{.end = time}, before);
    return after == links_.begin() ? CriticalLink{} : *std::prev(after);
  }

 private:
  static bool before(const CriticalLink& a, const CriticalLink& b) { return a.end < b.end; }

  // What took no time explains nothing: it started then for the same reason.
  void add(const CriticalLink& link) {
    if (link.end > link.start) links_.push_back(link);
  }

  bool touches(const CriticalLink& link, std::int32_t actor) const {
    if (link.span >= 0) return timeline_.spans[index(link.span)].actor == actor;
    const Transfer& transfer = timeline_.transfers[index(link.transfer)];
    return transfer.from == actor || transfer.to == actor;
  }

  const Timeline& timeline_;
  std::vector<CriticalLink> links_;
};

// The transfers of each actor, both ways, in the order of their starts.
class Queues {
 public:
  // `passed`, by transfer: whether the path has passed it.
  Queues(const Timeline& timeline, const std::vector<bool>& passed)
      : timeline_(timeline), passed_(passed), by_actor_(index(timeline.actors)) {
    std::vector<std::int32_t> order(timeline.transfers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return transfer(a).start < transfer(b).start;
    });
    for (const std::int32_t i : order) {
      by_actor_[index(transfer(i).from)].push_back(i);
      by_actor_[index(transfer(i).to)].push_back(i);
    }
  }

  // The last transfer before `i` on its channel, if it was still under way when `i` started; else
  // -1. What started with it is in front if its number is lower; else it may be, where results wait
  // for room before they are sent, unless the path has passed it: then it depends on `i`.
  std::int32_t ahead_on_channel(std::int32_t i) const {
    return ahead(i, transfer(i).from, [&](const Transfer& other) {
      return other.from == transfer(i).from && other.to == transfer(i).to;
    });
  }
  // The same among all transfers of one actor.
  std::int32_t ahead_of_actor(std::int32_t i, std::int32_t actor) const {
    return ahead(i, actor, [](const Transfer&) { return true; });
  }

 private:
  template <class Counts>
  std::int32_t ahead(std::int32_t i, std::int32_t actor, Counts counts) const {
    const std::vector<std::int32_t>& queue = by_actor_[index(actor)];
    const Nanoseconds start = transfer(i).start;
    auto at = std::upper_bound(
        queue.begin(), queue.end(), start,
        [&](Nanoseconds time, std::int32_t other) { return time < transfer(other).start; });
    while (at != queue.begin()) {
      const std::int32_t before = *--at;
      const bool earlier = transfer(before).start < start || before < i || !passed_[index(before)];
      if (!earlier || !counts(transfer(before))) continue;
      return transfer(before).end >= start ? before : -1;
    }
    return -1;
  }

  const Transfer& transfer(std::int32_t i) const { return timeline_.transfers[index(i)]; }

  const Timeline& timeline_;
  const std::vector<bool>& passed_;
  std::vector<std::vector<std::int32_t>> by_actor_;
};

class WalkBack {
 public:
  explicit WalkBack(const Timeline& timeline)
      : timeline_(timeline),
        lanes_(lanes_of(timeline)),
        passed_(timeline.transfers.size(), false) {}

  std::vector<CriticalLink> run() {
    std::vector<CriticalLink> path;
    const Nanoseconds begin = window_of(timeline_).begin;
    // Each step goes back in time or to what was queued earlier. The bound is for imported
    // timelines, whose times need not make sense.
    const std::size_t longest = timeline_.spans.size() + timeline_.transfers.size();
    CriticalLink link = last_to_end();
    while (!is_none(link) && path.size() < longest) {
      path.push_back(link);
      if (link.transfer >= 0) passed_[index(link.transfer)] = true;
      if (link.start <= begin) break;
      link = link.span >= 0 ? before_span(link.span) : before_transfer(link.transfer);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

 private:
  const Span& span(std::int32_t i) const { return timeline_.spans[index(i)]; }
  const Transfer& transfer(std::int32_t i) const { return timeline_.transfers[index(i)]; }

  // As far as it explains a start at `until`.
  CriticalLink of_span(std::int32_t i, Nanoseconds until) const {
    return {.span = i, .start = span(i).start, .end = std::min(until, span(i).end)};
  }
  CriticalLink of_transfer(std::int32_t i, Nanoseconds until) const {
    if (i < 0) return {};
    return {.transfer = i, .start = transfer(i).start, .end = std::min(until, transfer(i).end)};
  }

  CriticalLink last_to_end() const {
    const auto last = std::max_element(timeline_.spans.begin(), timeline_.spans.end(),
                                       [](const Span& a, const Span& b) { return a.end < b.end; });
    if (last == timeline_.spans.end()) return {};
    return of_span(static_cast<std::int32_t>(last - timeline_.spans.begin()), last->end);
  }

  // The later of the two, either of which may be none; the first of equals.
  static CriticalLink later(const CriticalLink& a, const CriticalLink& b) {
    if (is_none(a) || is_none(b)) return is_none(a) ? b : a;
    return b.end > a.end ? b : a;
  }

  // Of two that end together, the one that accounts for more.
  static CriticalLink longer(const CriticalLink& a, const CriticalLink& b) {
    if (is_none(a) || is_none(b)) return is_none(a) ? b : a;
    return b.start < a.start ? b : a;
  }

  // What the actor ran before, or the input (of the pair that holds `i`).
  CriticalLink before_span(std::int32_t i) {
    const Nanoseconds start = span(i).start;
    const SpanRange lane = lanes_[index(span(i).actor)];
    std::int32_t first = i;
    while (first > lane.first && span(first).overlaps_previous) --first;
    const CriticalLink own = first > lane.first ? of_span(first - 1, start) : CriticalLink{};
    const std::int32_t input =
        binding_transfer(timeline_, first, end_of_pair(timeline_, first, lane.last));
    const CriticalLink near = later(own, of_transfer(input, start));
    if (!is_none(near) && near.end == start) return near;
    // What the first op of an actor and a verdict wait for may be the step before's.
    const bool is_continued = first == lane.first || span(i).kind == ActionKind::Verdict;
    if (timeline_.period > 0 && is_continued) return {};
    const CriticalLink held = ends().at(start, span(i).actor, span(i).actor);
    if (!is_none(held)) return later(near, held);
    // What ends a step waits for the last actor to reach an exchange (of norms: it may cost nothing
    // and leave no span): in a measured run, a moment longer.
    const bool ends_step = span(i).kind != ActionKind::Compute;
    return later(near, ends_step ? ends().last_by(start) : ends().at(start, -1, -1));
  }

  // Its producer; if it queued, what it queued behind.
  CriticalLink before_transfer(std::int32_t i) {
    const Transfer& it = transfer(i);
    const CriticalLink producer = producer_of(it);
    if (it.start == it.ready) {
      if (is_none(producer) || producer.end == it.ready) return producer;
      return later(producer, ends().at(it.ready, -1, -1));  // it waited for room in a queue
    }
    const CriticalLink ahead = of_transfer(queues().ahead_on_channel(i), it.start);
    if (!is_none(ahead)) return ahead;
    const CriticalLink ended = ends().at(it.start, it.from, it.to);
    if (!is_none(ended)) return ended;
    const CriticalLink queued = longer(of_transfer(queues().ahead_of_actor(i, it.from), it.start),
                                       of_transfer(queues().ahead_of_actor(i, it.to), it.start));
    if (!is_none(queued) && queued.end == it.start) return queued;
    // An end of it was held up by a third actor: its result waited for room in a queue.
    return later(later(producer, queued), ends().at(it.start, -1, -1));
  }

  // The span of its op, else the last that its sender ended by then.
  CriticalLink producer_of(const Transfer& it) const {
    const SpanRange lane = lanes_[index(it.from)];
    const auto first = timeline_.spans.begin() + lane.first;
    const auto last =
        std::upper_bound(first, timeline_.spans.begin() + lane.last, it.ready,
                         [](Nanoseconds time, const Span& span) { return time < span.end; });
    if (last == first) return {};
    auto producer = last - 1;
    for (auto same = producer; same->end == (last - 1)->end; --same) {
      if (same->kind == ActionKind::Compute && same->op == it.op) producer = same;
      if (same == first) break;
    }
    return of_span(static_cast<std::int32_t>(producer - timeline_.spans.begin()), it.ready);
  }

  const Ends& ends() {
    if (!ends_) ends_.emplace(timeline_);
    return *ends_;
  }
  Queues& queues() {
    if (!queues_) queues_.emplace(timeline_, passed_);
    return *queues_;
  }

  const Timeline& timeline_;
  std::vector<SpanRange> lanes_;
  std::optional<Ends> ends_;
  std::vector<bool> passed_;  // by transfer: it is a link of the path
  std::optional<Queues> queues_;
};

}  // namespace

std::vector<CriticalLink> critical_path(const Timeline& timeline) {
  return WalkBack(timeline).run();
}

}  // namespace penstock
