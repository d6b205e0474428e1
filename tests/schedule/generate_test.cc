#include "penstock/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/check.h"
#include "penstock/error.h"
#include "tables.h"

namespace penstock {
namespace {

struct Reference {
  const char* file;
  const char* name;
  GenerateOptions options;
};

GenerateOptions sizes(int actors, int chunks, int microbatches, const char* group = nullptr) {
  GenerateOptions options{.actors = actors, .chunks = chunks, .microbatches = microbatches};
  if (group != nullptr) options.option["group"] = group;
  return options;
}

GenerateOptions variant(GenerateOptions options, const char* name) {
  options.option["variant"] = name;
  return options;
}

class Order : public testing::TestWithParam<Reference> {};

TEST_P(Order, IsTheReferenceCellForCell) {
  const Reference& reference = GetParam();
  const Schedule schedule = generate(reference.name, reference.options);
  EXPECT_EQ(rows_of(schedule), read_rows(reference.file));
  EXPECT_THAT(check(schedule), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Torch, Order,
    testing::Values(
        Reference{"torch/gpipe_p2_m2.compute.csv", "ScheduleGPipe", sizes(2, 1, 2)},
        Reference{"torch/gpipe_p2_m4.compute.csv", "gpipe", sizes(2, 1, 4)},
        Reference{"torch/gpipe_p4_m4.compute.csv", "gpipe", sizes(4, 1, 4)},
        Reference{"torch/gpipe_p4_m8.compute.csv", "gpipe", sizes(4, 1, 8)},
        Reference{"torch/1f1b_p2_m2.compute.csv", "1f1b", sizes(2, 1, 2)},
        Reference{"torch/1f1b_p2_m4.compute.csv", "1F1B", sizes(2, 1, 4)},
        Reference{"torch/1f1b_p4_m4.compute.csv", "schedule1f1b", sizes(4, 1, 4)},
        Reference{"torch/1f1b_p4_m8.compute.csv", "Schedule1F1B", sizes(4, 1, 8)},
        Reference{"torch/interleaved1f1b_p2_v2_m4.compute.csv", "Interleaved1F1B", sizes(2, 2, 4)},
        Reference{"torch/interleaved1f1b_p4_v2_m3.compute.csv", "interleaved_1f1b", sizes(4, 2, 3)},
        Reference{"torch/interleaved1f1b_p4_v2_m8.compute.csv", "interleaved_1f1b", sizes(4, 2, 8)},
        Reference{"torch/interleaved1f1b_p4_v4_m16.compute.csv", "ScheduleInterleaved1F1B",
                  sizes(4, 4, 16)},
        Reference{"torch/looped_bfs_p2_v2_m4.compute.csv", "ScheduleLoopedBFS", sizes(2, 2, 4)},
        Reference{"torch/looped_bfs_p4_v2_m3.compute.csv", "looped_bfs", sizes(4, 2, 3)},
        Reference{"torch/looped_bfs_p4_v2_m8.compute.csv", "looped_bfs", sizes(4, 2, 8)},
        Reference{"torch/looped_bfs_p4_v4_m16.compute.csv", "LoopedBFS", sizes(4, 4, 16)},
        Reference{"../torch_csv/derived/dualpipev_p2_m4.compute.csv", "ScheduleDualPipeV",
                  sizes(2, 2, 4)},
        Reference{"../torch_csv/derived/dualpipev_p4_m8.compute.csv", "DualPipeV", sizes(4, 1, 8)},
        Reference{"../torch_csv/derived/dualpipev_p4_m16.compute.csv", "dualpipev",
                  sizes(4, 2, 16)},
        Reference{"../torch_csv/upstream_artifacts/dualpipev_4rank_10mb.csv", "dualpipev",
                  sizes(4, 2, 10)}));

INSTANTIATE_TEST_SUITE_P(JaxPP, Order,
                         testing::Values(Reference{"other/jaxpp_dualpipev_p3_m6.csv", "dualpipev",
                                                   variant(sizes(3, 2, 6), "jaxpp")},
                                         Reference{"other/jaxpp_dualpipev_p4_m8.csv", "dualpipev",
                                                   variant(sizes(4, 2, 8), "jaxpp")}));

INSTANTIATE_TEST_SUITE_P(Others, Order,
                         testing::Values(Reference{"other/eager1f1b_p4_m8.csv", "eager_1f1b",
                                                   sizes(4, 1, 8)},
                                         Reference{"other/megatron_interleaved_p4_v2_m4_g4.csv",
                                                   "interleaved_1f1b", sizes(4, 2, 4, "4")},
                                         Reference{"other/megatron_interleaved_p4_v2_m8_g4.csv",
                                                   "interleaved_1f1b", sizes(4, 2, 8, "4")},
                                         Reference{"other/megatron_interleaved_p4_v2_m8_g8.csv",
                                                   "interleaved_1f1b", sizes(4, 2, 8, "8")},
                                         Reference{"other/megatron_interleaved_p4_v2_m9_g5.csv",
                                                   "interleaved_1f1b", sizes(4, 2, 9, "5")},
                                         Reference{"other/megatron_interleaved_p4_v2_m12_g6.csv",
                                                   "interleaved_1f1b", sizes(4, 2, 12, "6")}));

}  // namespace
}  // namespace penstock
