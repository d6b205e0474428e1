// Which schedules get stuck when transfers are rendezvous, against an independent table: references
// that place each receive right before its consumer and each send right after its producer.
#include "rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/generate.h"
#include "penstock/program.h"
#include "tables.h"

namespace penstock {
namespace {

struct Verdict {
  const char* file;
  bool one_by_one;
  bool grouped;
};

class Matrix : public testing::TestWithParam<Verdict> {};

TEST_P(Matrix, AgreesWithTheIndependentChecker) {
  const Verdict& verdict = GetParam();
  const Schedule schedule = schedule_of(read_rows(verdict.file));
  const Program linear = lower(schedule, {.step_end = false});
  EXPECT_TRUE(meets(linear, Rendezvous::OneByOne)) << "the linear order always gets through";
  EXPECT_TRUE(meets(linear, Rendezvous::Grouped));

  const LowerOptions naive{.placement = MessagePlacement::Naive, .step_end = false};
  const Program plain = lower(schedule, naive);
  EXPECT_EQ(meets(plain, Rendezvous::OneByOne), verdict.one_by_one);
  EXPECT_EQ(meets(plain, Rendezvous::Grouped), verdict.grouped);

  const LowerOptions options{.placement = MessagePlacement::Paired, .step_end = false};
  EXPECT_EQ(lower(schedule, options).actions, (verdict.grouped ? plain : linear).actions)
      << "paired where that gets through, linear elsewhere";
}

INSTANTIATE_TEST_SUITE_P(
    All, Matrix,
    testing::Values(Verdict{"torch/gpipe_p4_m8.compute.csv", true, true},
                    Verdict{"torch/1f1b_p4_m8.compute.csv", false, true},
                    Verdict{"torch/1f1b_p4_m4.compute.csv", false, true},
                    Verdict{"other/eager1f1b_p4_m8.csv", false, true},
                    Verdict{"torch/looped_bfs_p4_v2_m8.compute.csv", false, false},
                    Verdict{"torch/interleaved1f1b_p4_v2_m8.compute.csv", false, false},
                    Verdict{"torch/interleaved1f1b_p2_v2_m4.compute.csv", false, false},
                    Verdict{"torch/interleaved_zb1p_p4_v2_m8.compute.csv", false, false},
                    Verdict{"other/zb-h1_p4_m8.csv", false, true},
                    Verdict{"other/zb-h2_p4_m8.csv", false, false},
                    Verdict{"torch/zbv_p4_m8.compute.csv", false, false},
                    Verdict{"torch/dualpipev_p4_m8.compute.csv", false, false},
                    Verdict{"other/V-Min_p4_m8.csv", false, false},
                    Verdict{"other/V-Half_p4_m8.csv", false, false},
                    Verdict{"other/ZB-V_p4_m8.csv", false, false},
                    Verdict{"other/1F1B-V_p4_m8.csv", false, false}));

}  // namespace
}  // namespace penstock
