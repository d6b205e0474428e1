#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "members.h"
#include "option.h"

namespace penstock {
namespace {

// List scheduling in slots of one op each, F or B alike: in every slot, every actor runs the op
// that comes first of those whose inputs are there.
class Waves {
 public:
  explicit Waves(Pipeline pipeline)
      : pipeline_(std::move(pipeline)), ready_(size(pipeline_.actors)) {
    orders_.resize(ready_.size());
  }

  std::vector<std::vector<Step>> orders() {
    for (std::size_t i = 0; i < pipeline_.microbatches.size(); ++i) {
      add({OpKind::Forward, 0, static_cast<std::int32_t>(i), 0});
    }
    while (!active_.empty()) run_slot();
    return std::move(orders_);
  }

 private:
  static std::size_t size(std::int32_t count) { return static_cast<std::size_t>(count); }

  // Backwards first, then the lower microbatch, which is at one stage at a time.
  struct Later {
    bool operator()(const Op& a, const Op& b) const {
      return std::tuple(a.kind == OpKind::Forward, a.microbatch) >
             std::tuple(b.kind == OpKind::Forward, b.microbatch);
    }
  };
  using Ready = std::priority_queue<Op, std::vector<Op>, Later>;

  void run_slot() {
    std::vector<Op> next;
    std::vector<std::int32_t> still_active;
    for (const std::int32_t actor : active_) {
      Ready& ready = ready_[size(actor)];
      const Op op = ready.top();
      ready.pop();
      orders_[size(actor)].push_back({op});
      if (!ready.empty()) still_active.push_back(actor);
      follow(op, next);
    }
    active_ = std::move(still_active);
    for (const Op& op : next) add(op);
  }

  // What an op makes possible: the stages in forward order, then back.
  void follow(Op op, std::vector<Op>& next) const {
    const auto last = static_cast<std::int32_t>(pipeline_.stages.size()) - 1;
    if (op.kind == OpKind::Backward) {
      if (op.stage-- == 0) return;
    } else if (op.stage == last) {
      op.kind = OpKind::Backward;
    } else {
      ++op.stage;
    }
    next.push_back(op);
  }

  void add(const Op& op) {
    const std::int32_t actor = pipeline_.stages[size(op.stage)].actor;
    Ready& ready = ready_[size(actor)];
    if (ready.empty()) active_.push_back(actor);
    ready.push(op);
  }

  const Pipeline pipeline_;
  std::vector<Ready> ready_;          // by actor
  std::vector<std::int32_t> active_;  // actors with something ready
  std::vector<std::vector<Step>> orders_;
};

std::int32_t checked_chunks(const GenerateOptions& options) {
  if (options.chunks == 1) return 2;
  if (options.chunks % 2 == 0) return options.chunks;
  throw Error("chunks",
              fmt::format("hanayo's waves are two stages per actor each, which do not make up {}",
                          options.chunks),
              multiples_near(options.chunks, 2, 2) + " chunks");
}

}  // namespace

Schedule hanayo(const GenerateOptions& options) {
  Schedule schedule{
      .name = "hanayo",
      .pipeline = v_pipeline(options.actors, checked_chunks(options), options.microbatches),
      .order = {}};
  schedule.order = Waves(schedule.pipeline).orders();
  return schedule;
}

}  // namespace penstock
