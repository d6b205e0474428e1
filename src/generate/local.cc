#include <fmt/format.h>

#include "local_order.h"
#include "members.h"
#include "option.h"
#include "order.h"

namespace penstock {
namespace {

// A named choice of windows. `window` 0: any.
struct Variant {
  std::string_view name;
  std::int32_t window;
  std::int32_t usual_window;
  bool overlaps;
  std::int32_t capacity;      // of the queues; 0: any number of activations waits
  std::int32_t update_every;  // microbatches; 0: behind the last op
};

constexpr Variant kVariants[] = {
    {"greedy", 1, 1, false, 0, 0},
    {"overlapping", 0, 2, true, 0, 0},
    {"chunked", 0, 2, false, 0, 0},
    {"ppll", 0, 1, false, 2, 1},
};
constexpr Variant kPlain = {"local", 0, 1, false, 0, 0};  // any windows

constexpr const char* kWindow = "option window";
constexpr const char* kStride = "option stride";

class Choice {
 public:
  // Throws Error when an option, or what the options say together, makes no sense.
  explicit Choice(const GenerateOptions& options) : options_(options), variant_(variant()) {
    learning.kind = LearningKind::Local;
    const std::int32_t usual = std::min(variant_.usual_window, options_.actors);
    learning.window = number_option(options_, "window", usual, problems_);
    const std::int32_t stride = variant_.overlaps ? 1 : learning.window;
    learning.stride = number_option(options_, "stride", stride, problems_);
    learning.combine = named("combine", kCombines);
    learning.aux = named("aux", kAuxHeads);
    learning.queue_capacity = number_option(options_, "capacity", variant_.capacity, problems_);
    update_every = number_option(options_, "update_every", variant_.update_every, problems_);
    if (problems_.empty()) check_windows();
    throw_if_any(std::move(problems_));
  }

  Learning learning;
  std::int32_t update_every = 0;

 private:
  Variant variant() {
    if (!options_.option.contains("variant")) return kPlain;
    std::vector<std::string_view> names;
    for (const Variant& variant : kVariants) names.push_back(variant.name);
    const std::string_view chosen = word_option(options_, "variant", names, problems_);
    for (const Variant& variant : kVariants) {
      if (variant.name == chosen) return variant;
    }
    return kPlain;
  }

  template <typename Value, std::size_t size>
  Value named(const char* key, const Value (&values)[size]) {
    std::vector<std::string_view> names;
    for (const Value value : values) names.push_back(name(value));
    const std::string_view chosen = word_option(options_, key, names, problems_);
    for (const Value value : values) {
      if (name(value) == chosen) return value;
    }
    return values[0];
  }

  void check_windows() {
    const std::int32_t window = learning.window;
    const std::int32_t stride = learning.stride;
    const auto problem = [&](const char* where, std::string what, std::string hint) {
      problems_.push_back({where, std::move(what), std::move(hint)});
    };
    if (window > options_.actors) {
      problem(kWindow,
              fmt::format("windows of {} stages, but there are {}", window, options_.actors),
              fmt::format("at most {}: one window over all stages is backpropagation",
                          options_.actors));
    }
    if (stride > window) {
      problem(kStride,
              fmt::format("windows of {} stages every {} stages leave stages out", window, stride),
              fmt::format("at most {}", window));
    }
    if (variant_.window != 0 && window != variant_.window) {
      problem(kWindow, fmt::format("{} has windows of {} stage", variant_.name, variant_.window),
              "leave out window, or say chunked");
    }
    if (variant_.overlaps && stride == window && window > 1) {
      problem(kStride, fmt::format("windows of {} every {} stages do not overlap", window, stride),
              "a smaller stride, or say chunked");
    }
    if (!variant_.overlaps && variant_.name != kPlain.name && stride < window) {
      problem(kStride, fmt::format("windows of {} every {} stages overlap", window, stride),
              fmt::format("say overlapping, or stride={}", window));
    }
  }

  const GenerateOptions& options_;
  std::vector<Problem> problems_;
  const Variant variant_;
};

}  // namespace

Schedule local(const GenerateOptions& options) {
  refuse_chunks("local", options);
  Schedule schedule{.name = "local",
                    .pipeline = loop_pipeline(options.actors, 1, options.microbatches),
                    .order = {}};
  const Choice choice(options);
  schedule.pipeline.learning = choice.learning;
  const std::vector<LocalStage> stages = local_stages(schedule.pipeline.learning, options.actors);
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    schedule.order.push_back(local_order(stages[static_cast<std::size_t>(actor)], actor,
                                         options.microbatches, choice.update_every));
  }
  return schedule;
}

}  // namespace penstock
