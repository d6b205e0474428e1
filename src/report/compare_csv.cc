#include <algorithm>
#include <vector>

#include "json_text.h"
#include "penstock/report.h"
#include "report/comparison.h"
#include "report/labels.h"

namespace penstock {
namespace {

// One piece of work, wherever it ran: what a row is about.
struct Work {
  ActionKind kind;
  Op op;
  auto operator<=>(const Work&) const = default;
};

struct Ran {
  Work work;
  const Span* span;
};

// By work; the norm, which every actor takes part in, by actor.
std::vector<Ran> by_work(const Timeline& timeline) {
  std::vector<Ran> ran;
  ran.reserve(timeline.spans.size());
  for (const Span& span : timeline.spans) ran.push_back({{span.kind, span.op}, &span});
  std::stable_sort(ran.begin(), ran.end(), [](const Ran& x, const Ran& y) {
    return std::pair(x.work, x.span->actor) < std::pair(y.work, y.span->actor);
  });
  return ran;
}

void append_side(std::string& out, const Span* span) {
  if (span == nullptr) {
    out += ",,,";
  } else {
    append(out, ",{},{},{}", span->actor, to_s(span->start), to_s(span->end - span->start));
  }
}

void append_row(std::string& out, const Span* a, const Span* b) {
  append(out, "{}", label(a != nullptr ? *a : *b));
  append_side(out, a);
  append_side(out, b);
  out += ",";
  if (a != nullptr && b != nullptr) {
    const auto length = [](const Span& span) { return static_cast<double>(span.end - span.start); };
    if (const auto percent = difference({length(*a), length(*b)})) append(out, "{}", *percent);
  }
  out += "\n";
}

}  // namespace

std::string compare_csv(const Timeline& a, const Timeline& b) {
  const std::vector<Ran> ran_a = by_work(a);
  const std::vector<Ran> ran_b = by_work(b);
  std::string out =
      "op,a_actor,a_start_s,a_duration_s,b_actor,b_start_s,b_duration_s,"
      "difference_percent\n";
  auto at_a = ran_a.begin();
  auto at_b = ran_b.begin();
  while (at_a != ran_a.end() || at_b != ran_b.end()) {
    const bool only_a = at_b == ran_b.end() || (at_a != ran_a.end() && at_a->work < at_b->work);
    const bool only_b = at_a == ran_a.end() || (at_b != ran_b.end() && at_b->work < at_a->work);
    append_row(out, only_b ? nullptr : (at_a++)->span, only_a ? nullptr : (at_b++)->span);
  }
  return out;
}

}  // namespace penstock
