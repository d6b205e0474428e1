#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "members.h"
#include "option.h"
#include "routes.h"

namespace penstock {
namespace {

constexpr std::string_view kVariants[] = {"released", "concat"};

void check_sizes(const GenerateOptions& options, std::vector<Problem>& problems) {
  check_chunks("bitpipe", options, {2, 4}, problems);
  if (options.actors % 2 != 0) {
    problems.push_back({"actors",
                        fmt::format("bitpipe's two Vs meet in the middle of an even number of "
                                    "actors, not {}",
                                    options.actors),
                        multiples_near(options.actors, 2, 2) + " actors"});
  } else if (options.microbatches % options.actors != 0) {
    problems.push_back(
        {"microbatches",
         fmt::format("bitpipe runs units of one microbatch per actor, which do not make up {} on "
                     "{} actors",
                     options.microbatches, options.actors),
         multiples_near(options.microbatches, options.actors, options.actors) + " microbatches"});
  }
}

// Two Vs: route 0 goes down the actors and back up, route 1 up and back down. Of every unit of
// `actors` microbatches the first half takes route 0.
Pipeline two_vs(std::int32_t actors, std::int32_t microbatches) {
  Pipeline pipeline{.actors = actors};
  const auto down_and_up = [=](std::int32_t part) {
    return part < actors ? part : 2 * actors - 1 - part;
  };
  add_route(pipeline, 2 * actors, down_and_up);
  add_route(pipeline, 2 * actors,
            [=](std::int32_t part) { return actors - 1 - down_and_up(part); });
  for (std::int32_t i = 0; i < microbatches; ++i) {
    pipeline.microbatches.push_back({.route = i % actors / (actors / 2)});
  }
  return pipeline;
}

// One actor's ops, unit after unit. A unit meets the actor on four chunks: of the V that enters
// nearer by and of the other, each on the way out and on the way back.
class BitPipeOrder {
 public:
  BitPipeOrder(std::int32_t actors, std::int32_t actor, std::int32_t units)
      : actors_(actors),
        near_route_(actor < actors / 2 ? 0 : 1),
        from_near_end_(near_route_ == 0 ? actor : actors - 1 - actor),
        lag_(actors / 2 - from_near_end_) {
    for (std::int32_t unit = 0; unit < units; ++unit) {
      merge(OpKind::Forward, unit, {NearOut, FarBack}, {FarOut, NearBack}, forwards_);
      merge(OpKind::Backward, unit, {NearBack, FarOut}, {FarBack, NearOut}, backwards_);
    }
  }

  // `early`: how many forwards of the next unit come before the first backward of the seam.
  std::vector<Step> write(std::int32_t units, std::int32_t early) {
    const std::int32_t ops = 2 * actors_;  // of a kind, per unit
    forwards(ops - lag_);
    turns(lag_);
    for (std::int32_t unit = 1; unit < units; ++unit) {
      backwards(ops - 2 * lag_ + 1);
      const std::int32_t extra = lag_ > 1 ? early - 1 : 0;
      forwards(extra);
      turns(lag_ - 1);
      forwards(ops - 2 * lag_ + 1 - extra);
      turns(lag_);
    }
    backwards(ops - lag_);
    return std::move(steps_);
  }

 private:
  enum Chunk { NearOut, NearBack, FarOut, FarBack };

  // A unit's ops of one kind: the chunks of `first` one after the other, those of `second` likewise
  // but `lag_` ops later, in turn where both run.
  void merge(OpKind kind, std::int32_t unit, std::array<Chunk, 2> first,
             std::array<Chunk, 2> second, std::vector<Op>& ops) const {
    for (std::int32_t i = 0; i < actors_ + lag_; ++i) {
      if (i >= lag_) ops.push_back(op(kind, unit, second, i - lag_));
      if (i < actors_) ops.push_back(op(kind, unit, first, i));
    }
  }

  Op op(OpKind kind, std::int32_t unit, std::array<Chunk, 2> chunks, std::int32_t i) const {
    const std::int32_t half = actors_ / 2;
    const Chunk chunk = chunks[static_cast<std::size_t>(i / half)];
    const bool near = chunk == NearOut || chunk == NearBack;
    const std::int32_t route = near ? near_route_ : 1 - near_route_;
    const std::int32_t out = near ? from_near_end_ : actors_ - 1 - from_near_end_;
    const bool is_out = chunk == NearOut || chunk == FarOut;
    const std::int32_t part = is_out ? out : 2 * actors_ - 1 - out;
    return {kind, route * 2 * actors_ + part, unit * actors_ + route * half + i % half, 0};
  }

  void forwards(std::int32_t count) {
    for (; count > 0; --count) steps_.push_back({forwards_[next_forward_++]});
  }

  void backwards(std::int32_t count) {
    for (; count > 0; --count) steps_.push_back({backwards_[next_backward_++]});
  }

  void turns(std::int32_t count) {
    for (; count > 0; --count) {
      forwards(1);
      backwards(1);
    }
  }

  const std::int32_t actors_;
  const std::int32_t near_route_;     // the one that enters in the actor's half
  const std::int32_t from_near_end_;  // actors between it and where that route enters
  const std::int32_t lag_;            // actors between it and the other half, and one
  std::vector<Op> forwards_;
  std::vector<Op> backwards_;
  std::size_t next_forward_ = 0;
  std::size_t next_backward_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

Schedule bitpipe(const GenerateOptions& options) {
  std::vector<Problem> problems;
  check_sizes(options, problems);
  const bool concat = word_option(options, "variant", kVariants, problems) == "concat";
  throw_if_any(std::move(problems));
  const std::int32_t units = options.microbatches / options.actors;
  Schedule schedule{
      .name = "bitpipe", .pipeline = two_vs(options.actors, options.microbatches), .order = {}};
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    schedule.order.push_back(
        BitPipeOrder(options.actors, actor, units).write(units, concat ? 2 : 1));
  }
  return schedule;
}

}  // namespace penstock
