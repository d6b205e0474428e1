// Windows of stages: which stages learn together, and what that makes of their orders.
#include "penstock/learning.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/check.h"
#include "penstock/depend.h"
#include "penstock/error.h"
#include "penstock/generate.h"
#include "penstock/program.h"
#include "tables.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Learning windows_of(std::int32_t window, std::int32_t stride) {
  return {.kind = LearningKind::Local, .window = window, .stride = stride};
}

// Figure 2 of arXiv 2012.03837: four layers.
TEST(Windows, ThePapersFourVariants) {
  const auto pairs = [](const Learning& learning) {
    std::vector<bool> together;
    for (std::int32_t i = 0; i < 3; ++i) {
      together.push_back(learn_together(learning, 4, i, i + 1));
    }
    return together;
  };
  EXPECT_THAT(pairs({}), ElementsAre(true, true, true));
  EXPECT_THAT(pairs(windows_of(4, 4)), ElementsAre(true, true, true));
  EXPECT_THAT(pairs(windows_of(1, 1)), ElementsAre(false, false, false));
  EXPECT_THAT(pairs(windows_of(2, 1)), ElementsAre(true, true, true));
  EXPECT_THAT(pairs(windows_of(2, 2)), ElementsAre(true, false, true));
  EXPECT_THAT(pairs({.kind = LearningKind::ForwardOnly}), ElementsAre(false, false, false));
  EXPECT_FALSE(learn_together(windows_of(2, 1), 4, 0, 2));
  EXPECT_TRUE(learn_together({}, 4, 0, 3));
}

TEST(Windows, AreThoseThatTheRuleLists) {
  for (std::int32_t length = 1; length <= 9; ++length) {
    for (std::int32_t window = 1; window <= length; ++window) {
      for (std::int32_t stride = 1; stride <= window; ++stride) {
        std::vector<std::pair<std::int32_t, std::int32_t>> all;
        for (std::int32_t first = 0; all.empty() || all.back().second < length - 1;
             first += stride) {
          all.push_back({first, std::min(first + window, length) - 1});
        }
        for (std::int32_t first = 0; first < length; ++first) {
          for (std::int32_t last = first; last < length; ++last) {
            const auto holding = std::count_if(all.begin(), all.end(), [&](const auto& one) {
              return one.first <= first && last <= one.second;
            });
            const Learning learning = windows_of(window, stride);
            EXPECT_EQ(learn_together(learning, length, first, last), holding > 0);
            EXPECT_EQ(windows_with(learning, length, first, last), holding)
                << length << ": " << window << " every " << stride << ", " << first << " " << last;
          }
        }
      }
    }
  }
}

std::vector<std::string> inputs_of(const Learning& learning, const char* op) {
  Pipeline pipeline = loop_pipeline(4, 1, 2);
  pipeline.learning = learning;
  std::vector<std::string> texts;
  for (const Op& input : Dependencies(pipeline).inputs(*parse_op(op))) {
    texts.push_back(to_string(input));
  }
  return texts;
}

// B stands for B or I.
TEST(Windows, SayWhatWaitsForWhat) {
  EXPECT_THAT(inputs_of(windows_of(1, 1), "1B0"), ElementsAre("1F0"));
  EXPECT_THAT(inputs_of(windows_of(1, 1), "1W0"), ElementsAre("1B0"));
  EXPECT_THAT(inputs_of(windows_of(2, 2), "0B0"), ElementsAre("0F0", "1B0"));
  EXPECT_THAT(inputs_of(windows_of(2, 2), "0I0"), ElementsAre("0F0", "1B0"));
  EXPECT_THAT(inputs_of(windows_of(2, 2), "1B0"), ElementsAre("1F0"));
  EXPECT_THAT(inputs_of({}, "1I1"), ElementsAre("1F1", "2B1"));
  EXPECT_THAT(inputs_of({}, "1W1"), ElementsAre("1B1"));
}

// What stage 1 sends back is the gradient of its own loss; what it gets goes into its weights.
TEST(Windows, ThatOverlapByOneHaveAWayBackOfOneHop) {
  EXPECT_THAT(inputs_of(windows_of(2, 1), "1I0"), ElementsAre("1F0"));
  EXPECT_THAT(inputs_of(windows_of(2, 1), "1W0"), ElementsAre("1B0", "2B0"));
  EXPECT_THAT(inputs_of(windows_of(2, 1), "1B0"), ElementsAre("1F0", "2B0"));
  EXPECT_THAT(inputs_of(windows_of(2, 1), "0I0"), ElementsAre("0F0", "1B0")) << "sends nothing";
  EXPECT_THAT(inputs_of(windows_of(2, 1), "3I0"), ElementsAre("3F0"));
  EXPECT_THAT(inputs_of(windows_of(3, 1), "1I0"), ElementsAre("1F0", "2B0")) << "passes it on";
  EXPECT_THAT(inputs_of(windows_of(3, 1), "1W0"), ElementsAre("1B0"));
  EXPECT_THAT(inputs_of(windows_of(3, 2), "2I0"), ElementsAre("2F0"));
  EXPECT_THAT(inputs_of(windows_of(3, 2), "2W0"), ElementsAre("2B0", "3B0"));
}

Schedule local(std::map<std::string, std::string> option, int actors = 4, int microbatches = 5) {
  const Schedule schedule = generate(
      "local", {.actors = actors, .microbatches = microbatches, .option = std::move(option)});
  EXPECT_THAT(check(schedule), IsEmpty());
  return schedule;
}

TEST(LocalOrder, GreedyStagesWaitForNobodyBehind) {
  for (const Row& row : rows_of(local({}))) EXPECT_EQ(row.size(), 10U);
  EXPECT_EQ(rows_of(local({}))[1],
            Row({"1F0", "1B0", "1F1", "1B1", "1F2", "1B2", "1F3", "1B3", "1F4", "1B4"}));
  EXPECT_EQ(local({}), local({{"variant", "greedy"}}));
  EXPECT_EQ(local({}), local({{"window", "1"}, {"stride", "1"}}));
}

TEST(LocalOrder, OneWindowIsBackpropagation) {
  for (const int p : {1, 2, 4, 5}) {
    EXPECT_EQ(local({{"window", std::to_string(p)}}, p).order,
              generate("1f1b", {.actors = p, .microbatches = 5}).order);
  }
}

TEST(LocalOrder, ChunksAreShortPipelines) {
  const std::vector<Row> rows = rows_of(local({{"variant", "chunked"}}, 4, 3));
  EXPECT_EQ(rows[0], Row({"0F0", "0F1", "0B0", "0F2", "0B1", "0B2"}));
  EXPECT_EQ(rows[1], Row({"1F0", "1B0", "1F1", "1B1", "1F2", "1B2"}));
  EXPECT_EQ(rows[2], Row({"2F0", "2F1", "2B0", "2F2", "2B1", "2B2"}));
}

TEST(LocalOrder, OverlappingWindowsSplitTheBackward) {
  const std::vector<Row> rows = rows_of(local({{"variant", "overlapping"}}, 4, 3));
  EXPECT_EQ(rows[0], Row({"0F0", "0F1", "0B0", "0F2", "0B1", "0B2"}));
  EXPECT_EQ(rows[1], Row({"1F0", "1I0", "1F1", "1I1", "1W0", "1F2", "1I2", "1W1", "1W2"}));
  EXPECT_EQ(rows[3], Row({"3F0", "3B0", "3F1", "3B1", "3F2", "3B2"}));
}

TEST(LocalOrder, EveryWindowHasAnOrderThatGetsThrough) {
  for (int p = 1; p <= 7; ++p) {
    for (int window = 1; window <= p; ++window) {
      for (int stride = 1; stride <= window; ++stride) {
        for (const int m : {1, 2, 9}) {
          local({{"window", std::to_string(window)}, {"stride", std::to_string(stride)}}, p, m);
        }
      }
    }
  }
}

// Gradients cross no window, and only F goes forward.
TEST(LocalOrder, MessagesStayInTheirWindows) {
  const auto messages = [](const Schedule& schedule, OpKind kind) {
    const Program program = lower(schedule);
    return std::count_if(program.messages.begin(), program.messages.end(),
                         [&](const Message& message) { return message.kind == kind; });
  };
  EXPECT_EQ(messages(local({}), OpKind::Forward), 3 * 5);
  EXPECT_EQ(messages(local({}), OpKind::Backward), 0);
  EXPECT_EQ(messages(local({{"variant", "chunked"}}), OpKind::Backward), 2 * 5);
  EXPECT_EQ(messages(local({{"variant", "overlapping"}}), OpKind::Backward), 3 * 5);
}

TEST(Inference, RunsForwardsAlone) {
  const Schedule schedule = generate("forward_only", {.actors = 2, .chunks = 2, .microbatches = 3});
  EXPECT_THAT(check(schedule), IsEmpty());
  EXPECT_EQ(rows_of(schedule)[0], Row({"0F0", "0F1", "2F0", "2F1", "0F2", "2F2"}));
  const Program program = lower(schedule);
  for (const std::vector<Action>& actions : program.actions) {
    for (const Action& action : actions) EXPECT_LT(action.kind, ActionKind::ReduceGradients);
  }
}

std::vector<std::string> problems_of(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const Problem& problem : check(schedule)) texts.push_back(to_string(problem));
  return texts;
}

TEST(Inference, HasNoBackward) {
  Schedule schedule = generate("forward_only", {.actors = 1, .microbatches = 1});
  schedule.order[0].push_back({{OpKind::Backward, 0, 0, 0}});
  EXPECT_THAT(problems_of(schedule),
              ElementsAre("/order/0/1: actor 0 runs 0B0, but the pipeline learns nothing: "
                          "inference\n  hint: leave it out, or give another kind of learning"));
}

TEST(CheckLearning, ReportsNonsense) {
  const auto problems = [](const Learning& learning) {
    Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 2});
    schedule.pipeline.learning = learning;
    return problems_of(schedule);
  };
  EXPECT_THAT(problems(windows_of(0, 0)),
              ElementsAre("/learning/window: windows of 0 stages\n  hint: at least 1",
                          "/learning/stride: a stride of 0 stages\n  hint: at least 1"));
  EXPECT_THAT(problems(windows_of(2, 3)),
              ElementsAre("/learning/stride: windows of 2 stages every 3 stages leave stages out, "
                          "which would learn nothing\n  hint: at most 2"));
  EXPECT_THAT(problems(windows_of(5, 1)), ElementsAre(HasSubstr("but a route has 4\n  hint: at "
                                                                "most 4")));
  EXPECT_THAT(problems({.window = 2}),
              ElementsAre("/learning/kind: backprop has no windows, but they are described\n"
                          "  hint: leave out window, stride, combine and aux, or say windows"));
  EXPECT_THAT(problems({.queue_capacity = -1}),
              ElementsAre("/learning/queue_capacity: queues of -1 activations\n"
                          "  hint: at least 1; leave it out for queues without a bound"));
}

// A stage that runs ahead of what its window allows.
TEST(CheckLearning, FindsDeadlocksOfQueues) {
  Schedule schedule = generate("gpipe", {.actors = 2, .microbatches = 4});
  EXPECT_THAT(check(schedule), IsEmpty());
  schedule.pipeline.learning.queue_capacity = 1;
  EXPECT_THAT(check(schedule), IsEmpty()) << "actor 1 takes what comes";
  schedule = generate("1f1b", {.actors = 2, .microbatches = 4});
  schedule.pipeline.learning.queue_capacity = 1;
  EXPECT_THAT(check(schedule), IsEmpty());
  // All forwards on actor 0 before the first backward, but actor 1 alternates: its second forward
  // comes after a backward that nothing holds up. So actor 0 may run ahead, one in the queue.
  schedule.order[0] = generate("gpipe", {.actors = 2, .microbatches = 4}).order[0];
  EXPECT_THAT(check(schedule), IsEmpty());
  // With three actors, the last waits for what the first holds back.
  schedule = schedule_of(
      "0F0 0F1 0F2 0B0 0B1 0B2\n"
      "1F0 1B0 1F1 1B1 1F2 1B2\n"
      "2F0 2F1 2B0 2F2 2B1 2B2");
  EXPECT_THAT(problems_of(schedule), ElementsAre(HasSubstr("deadlock")));
}

TEST(CheckLearning, NamesWhoWaitsForRoom) {
  // Stage 2 sits on actor 0, which fills the queue to stage 1 before it empties the one behind.
  Schedule schedule = schedule_of(
      "0F0 0F1 0F2 0F3 2F0 2F1 2F2 2F3 2B0 2B1 2B2 2B3 0B0 0B1 0B2 0B3\n"
      "1F0 1F1 1F2 1F3 1B0 1B1 1B2 1B3");
  EXPECT_THAT(check(schedule), IsEmpty());
  schedule.pipeline.learning.queue_capacity = 1;
  EXPECT_THAT(
      problems_of(schedule),
      ElementsAre("/order/0/3: deadlock: actor 0 waits at 0F3 for 1F2 to make room in the queue, "
                  "which actor 1 runs after 1F1; actor 1 waits at 1F1 for 2F0 to make room in the "
                  "queue, which actor 0 runs after 0F3\n  hint: break the ring: one of these "
                  "actors must run what is awaited before it waits itself"));
}

TEST(CheckLearning, AQueueInsideAnActor) {
  Schedule schedule = schedule_of("0F0 0F1 0F2 1F0 1F1 1F2 1B0 0B0 1B1 0B1 1B2 0B2");
  schedule.pipeline.learning.queue_capacity = 2;
  EXPECT_THAT(problems_of(schedule),
              ElementsAre("/order/0/2: actor 0 runs 0F2 before 1F0, but only 2 fit into the queue "
                          "between stages 0 and 1\n"
                          "  hint: swap entries 2 and 3, or ask for a larger queue_capacity"));
  schedule.pipeline.learning.queue_capacity = 3;
  EXPECT_THAT(check(schedule), IsEmpty());
}

}  // namespace
}  // namespace penstock
