#include "report/timeline_check.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "penstock/index.h"
#include "report/labels.h"

namespace penstock {
namespace {

class Checker {
 public:
  Checker(const Timeline& timeline, const std::string& where, std::size_t most)
      : timeline_(timeline), where_(where), most_(most) {}

  std::vector<Problem> run() {
    stages();
    each("transfers", timeline_.transfers, [this](const Transfer& t) { check(t); });
    if (problems_.empty()) {
      each("spans", timeline_.spans, [this](const Span& span) { check(span); });
    }
    if (!problems_.empty()) return std::move(problems_);  // what follows uses the indices
    order();
    repeats();
    return std::move(problems_);
  }

 private:
  template <typename Row, typename Check>
  void each(std::string_view list, const std::vector<Row>& rows, Check check_row) {
    for (std::size_t i = 0; i < rows.size() && problems_.size() < most_; ++i) {
      at(list, i);
      check_row(rows[i]);
    }
  }

  void at(std::string_view list, std::size_t i) {
    list_ = list;
    index_ = i;
  }

  void problem(std::string what, std::string hint = {}) {
    if (problems_.size() >= most_) return;
    problems_.push_back({fmt::format("{}:/penstock/{}/{}", where_, list_, index_), std::move(what),
                         std::move(hint)});
  }

  bool within(std::string_view what, std::int64_t value, std::size_t count) {
    if (value >= 0 && value < static_cast<std::int64_t>(count)) return true;
    problem(fmt::format("{} {} does not exist", what, value),
            count > 0 ? fmt::format("there are {}, from 0", count) : "there is none");
    return false;
  }

  bool is_actor(std::int32_t actor) { return within("actor", actor, index(timeline_.actors)); }

  // The op's stage, microbatch and slice exist, and the stage sits on `actor`.
  void check_op(const Op& op, std::int32_t actor) {
    check_stage(op.stage, actor);
    if (within("microbatch", op.microbatch, index(timeline_.microbatches))) {
      const auto m = index(op.microbatch);
      const std::int32_t slices = m < timeline_.slices.size() ? timeline_.slices[m] : 1;
      within("slice", op.slice, index(slices));
    }
  }

  void check_stage(std::int32_t stage, std::int32_t actor) {
    if (!within("stage", stage, timeline_.stages.size()) || !is_actor(actor)) return;
    const std::int32_t home = timeline_.stages[index(stage)].actor;
    if (home != actor)
      problem(fmt::format("stage {} sits on actor {}, not {}", stage, home, actor));
  }

  void stages() {
    each("stages", timeline_.stages, [this](const TimelineStage& s) {
      is_actor(s.actor);
      within("route", s.route, timeline_.stages.size());  // each has a stage of its own
    });
    const std::size_t listed = timeline_.slices.size();
    if (listed == 0 || listed == index(timeline_.microbatches)) return;
    problems_.push_back(
        {where_ + ":/penstock/slices",
         fmt::format("{} values for {} microbatches", listed, timeline_.microbatches),
         "one per microbatch, or null when each has one slice"});
  }

  void check(const Span& span) {
    if (span.kind == ActionKind::Compute) {
      check_op(span.op, span.actor);
    } else if (!is_work(span.kind) && span.kind != ActionKind::ReduceGradients) {
      is_actor(span.actor);
    } else {
      check_stage(span.op.stage, span.actor);
    }
    if (span.end < span.start) {
      problem(fmt::format("{} ends at {} ns, before it starts at {} ns", label(span), span.end,
                          span.start));
    }
    if (span.awaits < 0 || !within("transfer", span.awaits, timeline_.transfers.size())) return;
    const Transfer& input = timeline_.transfers[index(span.awaits)];
    if (input.to != span.actor) {
      problem(fmt::format("{} on actor {} awaits a transfer to actor {}", label(span), span.actor,
                          input.to));
    }
  }

  void check(const Transfer& transfer) {
    check_op(transfer.op, transfer.from);
    is_actor(transfer.to);
    if (transfer.from == transfer.to) {
      problem(fmt::format("a transfer from actor {} to itself", transfer.from));
    }
    const bool sends = transfer.kind == OpKind::Forward ? transfer.op.kind == OpKind::Forward
                                                        : gives_input_gradient(transfer.op.kind);
    if (!sends) problem(fmt::format("{} makes no such tensor", to_string(transfer.op)));
    if (transfer.ready > transfer.start || transfer.start > transfer.end) {
      problem(fmt::format("ready at {} ns, started at {} ns, arrived at {} ns: out of order",
                          transfer.ready, transfer.start, transfer.end));
    }
  }

  // Actors in order; on each, spans start in order and overlap only inside a pair.
  void order() {
    Nanoseconds free = 0;       // when the lane is free for a span of its own
    Nanoseconds pair_from = 0;  // when it was before the latest of those
    for (std::size_t i = 0; i < timeline_.spans.size(); ++i) {
      at("spans", i);
      const Span& span = timeline_.spans[i];
      const bool first = i == 0 || timeline_.spans[i - 1].actor != span.actor;
      if (first) {
        if (i > 0 && span.actor < timeline_.spans[i - 1].actor) {
          problem(fmt::format("actor {} after actor {}", span.actor, timeline_.spans[i - 1].actor),
                  "spans are grouped by actor, in rising order");
        }
        free = pair_from = 0;
      }
      const bool pairs = !first && !timeline_.spans[i - 1].overlaps_previous;
      if (span.overlaps_previous && !pairs) {
        problem(fmt::format("{} overlaps a span that is not there", label(span)),
                "a pair is two spans of one actor, of which the second overlaps the first");
      }
      if (!span.overlaps_previous || first) pair_from = std::exchange(free, span.end);
      if (span.start < pair_from || (!first && span.start < timeline_.spans[i - 1].start)) {
        problem(fmt::format("{} starts at {} ns, before the span in front of it ends", label(span),
                            span.start),
                "only the two ops of a pair may overlap");
      }
      free = std::max(free, span.end);
    }
  }

  void repeats() {
    std::vector<std::pair<Op, std::size_t>> ops;
    ops.reserve(timeline_.spans.size());
    for (std::size_t i = 0; i < timeline_.spans.size(); ++i) {
      if (timeline_.spans[i].kind == ActionKind::Compute)
        ops.emplace_back(timeline_.spans[i].op, i);
    }
    std::sort(ops.begin(), ops.end());
    for (std::size_t i = 1; i < ops.size(); ++i) {
      if (ops[i].first != ops[i - 1].first) continue;
      at("spans", ops[i].second);
      problem(fmt::format("{} ran before, at /penstock/spans/{}", to_string(ops[i].first),
                          ops[i - 1].second));
    }
  }

  const Timeline& timeline_;
  const std::string& where_;
  std::size_t most_;
  std::vector<Problem> problems_;
  std::string_view list_;
  std::size_t index_ = 0;
};

}  // namespace

std::vector<Problem> check_timeline(const Timeline& timeline, const std::string& where,
                                    std::size_t most) {
  return Checker(timeline, where, most).run();
}

}  // namespace penstock
