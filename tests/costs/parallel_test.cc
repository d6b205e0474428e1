#include "penstock/parallel.h"

#include <gtest/gtest.h>

#include "model_files.h"

namespace penstock::testing {
namespace {

std::string text_of(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += to_string(problem) + "\n";
  return text;
}

TEST(Parallel, CountsDevicesAndReplicas) {
  const Parallel parallel{
      .pipeline = 16, .tensor = 2, .context = 1, .data = 64, .expert = 64, .expert_tensor = 1};
  EXPECT_EQ(parallel.devices(), 2048);
  EXPECT_EQ(parallel.replicas(), 64);
  EXPECT_EQ(parallel.expert_replicas(), 2);
  EXPECT_EQ(Parallel{.tensor = 8}.tensor_of_experts(), 8);
}

TEST(Parallel, SaysEverythingThatDoesNotDivide) {
  const Model mixtral = model_file("mixtral-8x7b-v0.1");
  EXPECT_TRUE(check_parallel({.tensor = 8, .sequence = true, .context = 2, .data = 8, .expert = 8},
                             mixtral, 4096)
                  .empty());
  // Sixteen devices hold eight key-value heads twice.
  EXPECT_TRUE(check_parallel({.tensor = 16}, mixtral, 4096).empty());
  EXPECT_EQ(
      text_of(check_parallel(
          {.tensor = 3, .sequence = true, .context = 5, .data = 2, .expert = 3, .expert_tensor = 1},
          mixtral, 4096, "p")),
      "p/tensor: 32 heads do not divide by 3\n  hint: a divisor of 32\n"
      "p/tensor: 8 key-value heads do not divide by 3\n  hint: a divisor of 8\n"
      "p/tensor: 14336 columns of the MLP do not divide by 3\n  hint: a divisor of 14336\n"
      "p/context: 4096 tokens of a sequence do not divide by 5\n  hint: a divisor of 4096\n"
      "p/tensor: 4096 tokens of a sequence do not divide by 15\n  hint: a divisor of 4096\n"
      "p/expert: 8 experts do not divide by 3\n  hint: a divisor of 8\n");
  EXPECT_EQ(text_of(check_parallel({.data = 4, .expert = 8}, mixtral, 4096)),
            "parallel/expert: 4 devices of a stage do not divide by 8\n  hint: a divisor of 4\n");
  EXPECT_EQ(text_of(check_parallel({.data = 4, .expert = 2}, model_file("gpt3-175b"), 2048)),
            "parallel/expert: the model has no experts\n  hint: leave it out\n");
}

}  // namespace
}  // namespace penstock::testing
