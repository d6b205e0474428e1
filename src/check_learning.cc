#include "check_learning.h"

#include <algorithm>

#include <fmt/format.h>

#include "order_place.h"

namespace penstock {
namespace {

class LearningCheck {
 public:
  LearningCheck(const Pipeline& pipeline, const std::string& source, ProblemList& problems)
      : pipeline_(pipeline), learning_(pipeline.learning), source_(source), problems_(problems) {}

  void run() {
    if (learning_.queue_capacity < 0) {
      problem("queue_capacity", fmt::format("queues of {} activations", learning_.queue_capacity),
              "at least 1; leave it out for queues without a bound");
    }
    if (learning_.kind == LearningKind::Local) {
      windows();
    } else {
      no_windows();
    }
  }

 private:
  void problem(const char* key, std::string what, std::string hint) {
    problems_.add([&] {
      return Problem{place(source_, fmt::format("/learning/{}", key)), std::move(what),
                     std::move(hint)};
    });
  }

  void windows() {
    const std::int32_t window = learning_.window;
    const std::int32_t stride = learning_.stride;
    if (window < 1) problem("window", fmt::format("windows of {} stages", window), "at least 1");
    if (stride < 1) problem("stride", fmt::format("a stride of {} stages", stride), "at least 1");
    if (window >= 1 && stride > window) {
      problem("stride",
              fmt::format("windows of {} stages every {} stages leave stages out, which would "
                          "learn nothing",
                          window, stride),
              fmt::format("at most {}", window));
    }
    std::size_t shortest = SIZE_MAX;
    for (const Route& route : pipeline_.routes) shortest = std::min(shortest, route.size());
    if (pipeline_.routes.empty() || window <= static_cast<std::int64_t>(shortest)) return;
    problem("window", fmt::format("windows of {} stages, but a route has {}", window, shortest),
            fmt::format("at most {}: one window over all stages is backpropagation", shortest));
  }

  void no_windows() {
    Learning plain{.kind = learning_.kind, .queue_capacity = learning_.queue_capacity};
    if (plain == learning_) return;
    problem("kind", fmt::format("{} has no windows, but they are described", name(learning_.kind)),
            fmt::format("leave out window, stride, combine and aux, or say {}",
                        name(LearningKind::Local)));
  }

  const Pipeline& pipeline_;
  const Learning& learning_;
  const std::string& source_;
  ProblemList& problems_;
};

}  // namespace

void check_learning(const Pipeline& pipeline, const std::string& source, ProblemList& problems) {
  LearningCheck(pipeline, source, problems).run();
}

}  // namespace penstock
