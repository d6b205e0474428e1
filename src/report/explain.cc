// Why each op of an actor started when it did.
#include <fmt/format.h>

#include "idle_walk.h"
#include "lanes.h"
#include "penstock/report.h"
#include "report/labels.h"
#include "report/units.h"

namespace penstock {
namespace {

// The stage that made what `transfer` carries.
std::string what_is_sent(const Transfer& transfer) {
  return fmt::format("the {} of stage {}", tensor_name(transfer.kind), transfer.op.stage);
}

// "until 2F0 ended, channel 1>2 busy 20 us, 100 us on the way": what the wait from `begin` to `end`
// was spent on.
std::string parts_of(const Transfer& input, Nanoseconds begin, Nanoseconds end) {
  const GapParts parts = parts_of_gap(input, begin, end);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (parts.sent > begin) {
    add(fmt::format("{} until {} ended on actor {}", show_time(parts.sent - begin),
                    to_string(input.op), input.from));
  }
  if (parts.started > parts.sent) {
    add(fmt::format("{} channel {}>{} busy", show_time(parts.started - parts.sent), input.from,
                    input.to));
  }
  if (parts.arrived > parts.started) {
    add(fmt::format("{} on the way", show_time(parts.arrived - parts.started)));
  }
  return text.empty() ? text : "\n         " + text;  // a line of its own, below the times
}

class Explanation {
 public:
  explicit Explanation(const Timeline& timeline)
      : timeline_(timeline), begin_(window_of(timeline).begin) {}

  // A line per span of the lane.
  std::string of(SpanRange lane) const {
    std::string text;
    std::int32_t before = -1;  // of what ran so far, the span that ended last
    for (std::int32_t first = lane.first; first < lane.last;) {
      const std::int32_t last = end_of_pair(timeline_, first, lane.last);
      text += line(span(first), why(before, first, last));
      for (std::int32_t i = first + 1; i < last; ++i) {
        text += line(span(i), "together with " + label(span(first)));
      }
      for (; first < last; ++first) {
        if (before < 0 || span(first).end >= span(before).end) before = first;
      }
    }
    return text;
  }

 private:
  const Span& span(std::int32_t i) const { return timeline_.spans[static_cast<std::size_t>(i)]; }

  std::string line(const Span& span, const std::string& why) const {
    return fmt::format("{:<8} started {:>11.3f} ms, {}\n", label(span), to_ms(span.start - begin_),
                       why);
  }

  // What the spans [first, last), which start together, waited for; `before` held the lane until
  // then, -1: nothing.
  std::string why(std::int32_t before, std::int32_t first, std::int32_t last) const {
    const Nanoseconds free = before < 0 ? begin_ : span(before).end;
    const Nanoseconds waited = span(first).start - free;
    if (waited <= 0) {
      return before < 0 ? "at the step's begin" : "right behind " + label(span(before));
    }
    const std::string long_text = "waited " + show_time(waited);
    if (span(first).kind != ActionKind::Compute) return long_text + " for the other actors";
    const std::int32_t input = binding_transfer(timeline_, first, last);
    if (input < 0) return long_text + " for its lane, held by transfers or a full queue";
    const Transfer& transfer = timeline_.transfers[static_cast<std::size_t>(input)];
    return fmt::format("{} for {}{}", long_text, what_is_sent(transfer),
                       parts_of(transfer, free, span(first).start));
  }

  const Timeline& timeline_;
  Nanoseconds begin_;
};

}  // namespace

std::string explain(const Timeline& timeline, std::int32_t actor) {
  if (actor < 0 || actor >= timeline.actors) {
    throw Error("explain", fmt::format("there is no actor {}", actor),
                fmt::format("actors are 0 to {}", timeline.actors - 1));
  }
  return Explanation(timeline).of(lanes_of(timeline)[static_cast<std::size_t>(actor)]);
}

}  // namespace penstock
