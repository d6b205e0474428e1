// Heads, tails and the bound of one actor at a time.
#include <algorithm>
#include <queue>
#include <utility>

#include "ancestors.h"
#include "penstock/index.h"
#include "relaxed.h"

namespace penstock {
namespace {

// An actor's nodes so far, the latest head first.
class LaneOfHeads {
 public:
  // When the actor has run all of `node`'s ancestors at the earliest: of those that cannot start
  // before some time, all run after it.
  Nanoseconds ancestors_end(std::int32_t node, const Ancestors& ancestors,
                            const std::vector<Nanoseconds>& durations) const {
    Nanoseconds end = 0;
    Nanoseconds busy = 0;
    for (const auto& [head, other] : nodes_) {
      if (!ancestors.has(node, other)) continue;
      busy += durations[index(other)];
      end = std::max(end, head + busy);
    }
    return end;
  }

  void add(Nanoseconds head, std::int32_t node) {
    const auto place =
        std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n.first <= head; });
    nodes_.insert(place, {head, node});
  }

 private:
  std::vector<std::pair<Nanoseconds, std::int32_t>> nodes_;
};

struct Job {
  Nanoseconds head = 0;
  Nanoseconds left = 0;
  Nanoseconds tail = 0;
};

// Whatever has the longest tail runs, and gives way to what comes with a longer one.
Nanoseconds preemptive(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  std::priority_queue<std::pair<Nanoseconds, std::size_t>> waiting;  // tail, job
  Nanoseconds now = 0;
  Nanoseconds bound = 0;
  for (std::size_t next = 0; next < jobs.size() || !waiting.empty();) {
    if (waiting.empty()) now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next) {
      waiting.emplace(jobs[next].tail, next);
    }
    Job& job = jobs[waiting.top().second];
    const Nanoseconds until = next < jobs.size() ? jobs[next].head : now + job.left;
    const Nanoseconds run = std::min(job.left, until - now);
    now += run;
    job.left -= run;
    if (job.left > 0) continue;
    bound = std::max(bound, now + job.tail);
    waiting.pop();
  }
  return bound;
}

std::size_t actors_of(const Relaxed& relaxed) {
  std::int32_t last = -1;
  for (const std::int32_t actor : relaxed.actor) last = std::max(last, actor);
  return index(last + 1);
}

}  // namespace

std::vector<Nanoseconds> heads_of(const Relaxed& relaxed) {
  std::vector<Nanoseconds> heads(relaxed.duration.size(), 0);
  std::vector<LaneOfHeads> lanes(actors_of(relaxed));
  Ancestors ancestors(relaxed.duration.size());
  for (const std::int32_t node : relaxed.sequence) {
    Nanoseconds& head = heads[index(node)];
    for (const Precedence& precedence : relaxed.inputs[index(node)]) {
      const auto input = index(precedence.input);
      head = std::max(head, heads[input] + relaxed.duration[input] + precedence.lag);
      ancestors.add(node, precedence.input);
    }
    if (!ancestors.known()) continue;
    LaneOfHeads& lane = lanes[index(relaxed.actor[index(node)])];
    head = std::max(head, lane.ancestors_end(node, ancestors, relaxed.duration));
    lane.add(head, node);
  }
  return heads;
}

Nanoseconds preemptive_bound(const Relaxed& relaxed, const std::vector<Nanoseconds>& heads,
                             const std::vector<Nanoseconds>& tails) {
  std::vector<std::vector<Job>> jobs(actors_of(relaxed));
  for (const std::int32_t node : relaxed.sequence) {
    const auto n = index(node);
    jobs[index(relaxed.actor[n])].push_back({heads[n], relaxed.duration[n], tails[n]});
  }
  Nanoseconds bound = 0;
  for (std::vector<Job>& lane : jobs) bound = std::max(bound, preemptive(std::move(lane)));
  return bound;
}

}  // namespace penstock
