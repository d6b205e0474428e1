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

GenerateOptions moe_overlap(GenerateOptions options) {
  options.option["moe_overlap"] = "1";
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

INSTANTIATE_TEST_SUITE_P(
    TorchSplit, Order,
    testing::Values(
        Reference{"../torch_csv/derived/interleaved_zb1p_p2_v2_m4.compute.csv",
                  "ScheduleInterleavedZeroBubble", sizes(2, 2, 4)},
        Reference{"../torch_csv/derived/interleaved_zb1p_p4_v2_m3.compute.csv",
                  "InterleavedZeroBubble", sizes(4, 2, 3)},
        Reference{"torch/interleaved_zb1p_p4_v2_m8.compute.csv", "interleaved_zb1p",
                  sizes(4, 2, 8)},
        Reference{"../torch_csv/derived/interleaved_zb1p_p4_v4_m16.compute.csv", "interleaved_zb1p",
                  sizes(4, 4, 16)},
        Reference{"../torch_csv/derived/zbv_p2_m4.compute.csv", "ScheduleZBVZeroBubble",
                  sizes(2, 2, 4)},
        Reference{"../torch_csv/derived/zbv_p4_m4.compute.csv", "ZBVZeroBubble", sizes(4, 1, 4)},
        Reference{"torch/zbv_p4_m8.compute.csv", "zb_v", variant(sizes(4, 2, 8), "torch")},
        Reference{"../torch_csv/derived/zbv_p4_m16.compute.csv", "zb_v", sizes(4, 2, 16)}));

INSTANTIATE_TEST_SUITE_P(
    ZeroBubblePaper, Order,
    testing::Values(Reference{"other/zb-h1_p4_m8.csv", "zb_h1", sizes(4, 1, 8)},
                    Reference{"other/zb-h2_p4_m8.csv", "zb_h2", sizes(4, 1, 8)}));

INSTANTIATE_TEST_SUITE_P(
    SailSg, Order,
    testing::Values(Reference{"other/ZB-V_p4_m8.csv", "zb_v", variant(sizes(4, 2, 8), "sailsg")},
                    Reference{"other/ZB-V_p4_m12.csv", "zb_v", variant(sizes(4, 2, 12), "sailsg")},
                    Reference{"other/V-Half_p4_m8.csv", "v_half", sizes(4, 2, 8)},
                    Reference{"other/V-Half_p4_m12.csv", "v_half", sizes(4, 1, 12)},
                    Reference{"other/V-Min_p4_m8.csv", "v_min", sizes(4, 2, 8)},
                    Reference{"other/V-Min_p4_m12.csv", "v_min", sizes(4, 1, 12)},
                    Reference{"other/1F1B-V_p4_m8.csv", "1f1b_v", sizes(4, 2, 8)},
                    Reference{"other/1F1B-V_p4_m12.csv", "1f1b_v", sizes(4, 1, 12)}));

// The files write slice 0 out: "0F1.0".
std::vector<Row> read_sliced_rows(const std::string& file) {
  std::vector<Row> rows = read_rows(file);
  for (Row& row : rows) {
    for (std::string& cell : row) {
      if (cell.ends_with(".0")) cell.resize(cell.size() - 2);
    }
  }
  return rows;
}

TEST(SlicedOrder, IsTheReferenceCellForCell) {
  const auto rows = [](int microbatches, int slices) {
    return rows_of(
        generate("seq1f1b", {.actors = 4, .microbatches = microbatches, .slices = slices}));
  };
  EXPECT_EQ(rows(4, 2), read_sliced_rows("other/seq1f1b_p4_m4_k2.csv"));
  EXPECT_EQ(rows(8, 4), read_sliced_rows("other/seq1f1b_p4_m8_k4.csv"));
}

TEST(SlicedOrder, OneSliceIsTheScheduleWithoutSlices) {
  for (const int p : {1, 2, 4, 5}) {
    for (const int m : {1, 3, 4, 8}) {
      EXPECT_EQ(generate("seq1f1b", sizes(p, 1, m)).order, generate("1f1b", sizes(p, 1, m)).order);
      EXPECT_EQ(generate("terapipe", sizes(p, 1, m)).order,
                generate("gpipe", sizes(p, 1, m)).order);
    }
    EXPECT_EQ(generate("seq1f1b", sizes(p, 3, 2 * p)).order,
              generate("interleaved_1f1b", sizes(p, 3, 2 * p)).order);
  }
}

TEST(SlicedOrder, LengthsAreThoseGivenOrEven) {
  const auto lengths = [](const GenerateOptions& options) {
    const Schedule schedule = generate("seq1f1b", options);
    EXPECT_THAT(check(schedule), testing::IsEmpty());
    for (const Microbatch& microbatch : schedule.pipeline.microbatches) {
      EXPECT_EQ(microbatch, schedule.pipeline.microbatches.front());
    }
    return schedule.pipeline.microbatches.front().slice_tokens;
  };
  using Lengths = std::vector<std::int32_t>;
  EXPECT_EQ(lengths({.actors = 2, .microbatches = 2, .slices = 3}), Lengths({1, 1, 1}));
  EXPECT_EQ(lengths({.actors = 2, .microbatches = 2, .slices = 3, .sequence = 64}),
            Lengths({22, 21, 21}));
  EXPECT_EQ(lengths({.actors = 2, .microbatches = 2, .sequence = 64}), Lengths());
  for (const char* text : {"30,20,14", "[30, 20, 14]"}) {
    EXPECT_EQ(lengths({.actors = 2,
                       .microbatches = 2,
                       .slices = 3,
                       .sequence = 64,
                       .option = {{"tokens", text}}}),
              Lengths({30, 20, 14}));
    EXPECT_EQ(lengths({.actors = 2, .microbatches = 2, .option = {{"tokens", text}}}),
              Lengths({30, 20, 14}));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Others, Order,
    testing::Values(Reference{"other/deepspeed_trainschedule_p4_m8.csv", "deepspeed_1f1b",
                              sizes(4, 1, 8)},
                    Reference{"other/eager1f1b_p4_m8.csv", "eager_1f1b", sizes(4, 1, 8)},
                    Reference{"other/megatron_interleaved_p4_v2_m4_g4.csv", "interleaved_1f1b",
                              sizes(4, 2, 4, "4")},
                    Reference{"other/megatron_interleaved_p4_v2_m8_g4.csv", "interleaved_1f1b",
                              sizes(4, 2, 8, "4")},
                    Reference{"other/megatron_interleaved_p4_v2_m8_g4_moeoverlap.csv",
                              "interleaved_1f1b", moe_overlap(sizes(4, 2, 8, "4"))},
                    Reference{"other/megatron_interleaved_p4_v2_m8_g8.csv", "interleaved_1f1b",
                              sizes(4, 2, 8, "8")},
                    Reference{"other/megatron_interleaved_p4_v2_m9_g5.csv", "interleaved_1f1b",
                              sizes(4, 2, 9, "5")},
                    Reference{"other/megatron_interleaved_p4_v2_m12_g6.csv", "interleaved_1f1b",
                              sizes(4, 2, 12, "6")}));

// With one chunk the interleaved rules are the plain ones.
TEST(Generate, OneChunkInterleavedIsPlain) {
  for (const int actors : {1, 2, 3, 5, 8}) {
    for (const int microbatches : {1, actors, 3 * actors, 8 * actors}) {
      const auto order = [&](const char* name) {
        return generate(name, sizes(actors, 1, microbatches)).order;
      };
      EXPECT_EQ(order("interleaved_zb1p"), order("zb_h1")) << actors << " " << microbatches;
      EXPECT_EQ(order("interleaved_1f1b"), order("eager_1f1b")) << actors << " " << microbatches;
    }
  }
}

// The two rules of zb_v are variants of one name: no actor runs the same order in both.
TEST(Generate, VariantsOfZbVDifferInEveryRow) {
  const Schedule torch = generate("zb_v", variant(sizes(4, 2, 8), "torch"));
  const Schedule sailsg = generate("zb_v", variant(sizes(4, 2, 8), "sailsg"));
  EXPECT_EQ(torch, generate("zb_v", {.actors = 4, .microbatches = 8}));
  EXPECT_EQ(torch.pipeline, sailsg.pipeline);
  for (std::size_t actor = 0; actor < 4; ++actor) {
    EXPECT_NE(torch.order[actor], sailsg.order[actor]) << actor;
  }
}

// Its own numbering of steps comes to the same order, fewer microbatches than actors included.
TEST(Order, DeepSpeedsIsThatOf1F1B) {
  for (const int p : {1, 2, 3, 4, 7, 16}) {
    for (const int m : {1, 2, 3, 6, 16, 33}) {
      EXPECT_EQ(generate("deepspeed_1f1b", sizes(p, 1, m)).order,
                generate("1f1b", sizes(p, 1, m)).order)
          << p << " " << m;
    }
  }
}

// What sharded weights ask for: an actor comes to a stage once per direction, to the last one once
// in all, and never leaves it before its microbatches are done.
TEST(Order, LoopedBfsVisitsEachStageOncePerDirection) {
  for (const char* fsdp : {"0", "1"}) {
    for (const int v : {1, 2, 3, 5}) {
      for (const int m : {1, 3, 8}) {
        GenerateOptions options = sizes(4, v, m);
        options.option["fsdp"] = fsdp;
        for (const std::vector<Step>& order : generate("looped_bfs", options).order) {
          int visits = 1;
          for (std::size_t i = 1; i < order.size(); ++i) {
            const Op& now = order[i].op;
            const Op& before = order[i - 1].op;
            if (now.stage != before.stage) ++visits;
            if (now.kind != before.kind || now.stage != before.stage) continue;
            const bool descends = now.kind == OpKind::Backward && *fsdp == '0';
            EXPECT_EQ(now.microbatch, before.microbatch + (descends ? -1 : 1));
          }
          EXPECT_EQ(visits, 2 * v - 1) << fsdp << v << m;
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
