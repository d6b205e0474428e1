#include "sample.h"

#include <algorithm>
#include <map>
#include <vector>

namespace penstock::test {
namespace {

std::vector<Op> order_of(const Sample& sample, std::int32_t actor) {
  const std::int32_t warm_up = std::min(sample.actors - actor, sample.microbatches);
  std::vector<Op> order;
  for (std::int32_t m = 0; m < warm_up; ++m) order.push_back({OpKind::Forward, actor, m, 0});
  for (std::int32_t m = 0; m < sample.microbatches; ++m) {
    order.push_back({sample.split ? OpKind::BackwardInput : OpKind::Backward, actor, m, 0});
    if (sample.split) order.push_back({OpKind::BackwardWeight, actor, m, 0});
    if (m + warm_up < sample.microbatches) {
      order.push_back({OpKind::Forward, actor, m + warm_up, 0});
    }
  }
  return order;
}

// In [0, 1): the same for the same op.
double fraction(const Op& op) {
  std::uint64_t x = static_cast<std::uint64_t>(op.stage) * 1'000'003U +
                    static_cast<std::uint64_t>(op.microbatch) * 7919U +
                    static_cast<std::uint64_t>(op.kind) * 104'729U + 12'345U;
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

class Maker {
 public:
  explicit Maker(const Sample& sample) : sample_(sample), lanes_(sample.actors) {
    for (std::int32_t a = 0; a < sample.actors; ++a) lanes_[a].order = order_of(sample, a);
  }

  Timeline make() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::int32_t a = 0; a < sample_.actors; ++a) progress |= advance(a);
    }
    return finish();
  }

 private:
  struct Lane {
    std::vector<Op> order;
    std::size_t next = 0;
    Nanoseconds free = 0;
    std::vector<Span> spans;
  };

  // Runs the lane's next op if its input is there.
  bool advance(std::int32_t actor) {
    Lane& lane = lanes_[static_cast<std::size_t>(actor)];
    if (lane.next == lane.order.size()) return false;
    const Op op = lane.order[lane.next];
    const bool forward = op.kind == OpKind::Forward;
    const bool local = op.kind == OpKind::BackwardWeight;
    const std::int32_t from = local ? -1 : forward ? actor - 1 : actor + 1;
    Span span{.op = op, .actor = actor, .start = lane.free};
    if (from >= 0 && from < sample_.actors) {
      const auto sent = sent_.find({op.kind, from, op.microbatch, 0});
      if (sent == sent_.end()) return false;
      span.awaits = sent->second;
      span.start = std::max(span.start, transfers_[static_cast<std::size_t>(span.awaits)].end);
    }
    span.end = span.start + duration(op);
    lane.free = span.end;
    lane.spans.push_back(span);
    ++lane.next;
    if (!local) send(op, actor, forward ? actor + 1 : actor - 1, span.end);
    return true;
  }

  Nanoseconds duration(const Op& op) const {
    Nanoseconds base = op.kind == OpKind::Forward ? sample_.forward : sample_.backward;
    if (sample_.split && op.kind != OpKind::Forward) base /= 2;
    return base +
           static_cast<Nanoseconds>(sample_.jitter * fraction(op) * static_cast<double>(base));
  }

  void send(const Op& op, std::int32_t from, std::int32_t to, Nanoseconds at) {
    if (to < 0 || to >= sample_.actors) return;
    sent_[op] = static_cast<std::int32_t>(transfers_.size());
    transfers_.push_back({.op = op,
                          .kind = op.kind == OpKind::Forward ? OpKind::Forward : OpKind::Backward,
                          .from = from,
                          .to = to,
                          .bytes = sample_.activation_bytes,
                          .ready = at,
                          .start = at,
                          .end = at + sample_.latency});
  }

  Timeline finish() {
    Timeline timeline;
    timeline.name = sample_.name;
    timeline.actors = sample_.actors;
    timeline.microbatches = sample_.microbatches;
    timeline.tokens = 1024;
    timeline.source = sample_.source;
    timeline.transfers = std::move(transfers_);
    for (std::int32_t a = 0; a < sample_.actors; ++a) {
      Lane& lane = lanes_[static_cast<std::size_t>(a)];
      timeline.stages.push_back({.actor = a,
                                 .part = a,
                                 .activation_bytes = sample_.activation_bytes,
                                 .left_bytes = sample_.activation_bytes,
                                 .weight_bytes = sample_.weight_bytes});
      lane.spans.push_back({.kind = ActionKind::Update,
                            .op = {.stage = a},
                            .actor = a,
                            .start = lane.free,
                            .end = lane.free + sample_.forward / 2});
      timeline.spans.insert(timeline.spans.end(), lane.spans.begin(), lane.spans.end());
    }
    return timeline;
  }

  const Sample& sample_;
  std::vector<Lane> lanes_;
  std::vector<Transfer> transfers_;
  std::map<Op, std::int32_t> sent_;
};

}  // namespace

Timeline one_f_one_b(const Sample& sample) {
  return Maker(sample).make();
}

}  // namespace penstock::test
