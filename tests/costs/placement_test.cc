#include "penstock/placement.h"

#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costs_testing.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Megatron-LM, megatron/core/parallel_state.py, the example of initialize_model_parallel: 16 GPUs,
// tensor 2, pipeline 4 (so data 2).
TEST(Placement, IsMegatronsExample) {
  const Placement placement = {.tensor = 2, .data = 2, .pipeline = 4};
  EXPECT_THAT(group_of(placement, {Dimension::Data}, 0), ElementsAre(0, 2));
  EXPECT_THAT(group_of(placement, {Dimension::Data}, 5), ElementsAre(5, 7));
  EXPECT_THAT(group_of(placement, {Dimension::Tensor}, 14), ElementsAre(14, 15));
  EXPECT_THAT(group_of(placement, {Dimension::Pipeline}, 0), ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(group_of(placement, {Dimension::Pipeline}, 15), ElementsAre(3, 7, 11, 15));
  EXPECT_EQ(stage_device(placement, 6, 3), 14);
  EXPECT_EQ(stage_device(placement, 14, 0), 2);
}

TEST(Placement, PutsTheInnermostDimensionOnNeighbours) {
  Placement placement = {.tensor = 2, .context = 2, .data = 2, .pipeline = 2};
  EXPECT_THAT(group_of(placement, {Dimension::Context}, 0), ElementsAre(0, 2));
  EXPECT_THAT(group_of(placement, {Dimension::Data, Dimension::Context}, 1),
              ElementsAre(1, 3, 5, 7));
  placement.order = "tp-cp-ep-pp-dp";  // Megatron's use_tp_pp_dp_mapping
  EXPECT_THAT(group_of(placement, {Dimension::Pipeline}, 0), ElementsAre(0, 4));
  EXPECT_THAT(group_of(placement, {Dimension::Data}, 0), ElementsAre(0, 8));
  placement.order = "pp-dp-ep-cp-tp";
  EXPECT_THAT(group_of(placement, {Dimension::Tensor}, 0), ElementsAre(0, 8));
}

// DeepSeek-V3 on H800, arXiv 2412.19437, 3.2: pipeline 16, experts over 64 devices on 8 nodes.
TEST(Placement, SpreadsExpertsOverTheDevicesOfAStage) {
  const Placement placement = {.expert = 64, .data = 128, .pipeline = 16};
  const Cluster cluster = shipped("h100-dgx");
  EXPECT_TRUE(check_placement(placement, cluster).empty());
  const std::vector<std::int32_t> experts = group_of(placement, {Dimension::Expert}, 0);
  EXPECT_EQ(node_layout(cluster, experts), (NodeLayout{8, 8, 8}));
  EXPECT_THAT(group_of(placement, {Dimension::ExpertData}, 3), ElementsAre(3, 67));
  // With the experts' own tensor degree, as Megatron's --expert-tensor-parallel-size.
  const Placement narrow = {.tensor = 4, .expert = 8, .expert_tensor = 1, .data = 4};
  EXPECT_THAT(group_of(narrow, {Dimension::Expert}, 9), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(group_of(narrow, {Dimension::ExpertTensor}, 9), ElementsAre(9));
}

TEST(NodeLayout, CountsMembersByNode) {
  const Cluster cluster = shipped("h100-dgx");
  const Placement placement = {.tensor = 4, .data = 4, .pipeline = 8};  // JaxPP's GPT-3 175B
  EXPECT_EQ(node_layout(cluster, group_of(placement, {Dimension::Tensor}, 6)),
            (NodeLayout{1, 4, 4}));
  EXPECT_EQ(node_layout(cluster, group_of(placement, {Dimension::Data}, 0)), (NodeLayout{2, 2, 2}));
  EXPECT_EQ(node_layout(cluster, group_of(placement, {Dimension::Pipeline}, 0)),
            (NodeLayout{8, 1, 1}));
  EXPECT_EQ(node_layout(cluster, std::vector<std::int32_t>{0, 1, 8}), (NodeLayout{2, 1, 2}));
}

std::string problems_of(const Placement& placement) {
  std::string text;
  for (const Problem& problem : check_placement(placement, round_cluster(), "p.json:/parallel")) {
    text += to_string(problem) + "\n";
  }
  return text;
}

TEST(CheckPlacement, SaysWhatCannotBePlaced) {
  EXPECT_EQ(problems_of({.tensor = 4, .data = 4}), "");
  EXPECT_THAT(problems_of({.tensor = 4, .data = 5}),
              HasSubstr("p.json:/parallel: tensor 4 x context 1 x data 5 x pipeline 1 devices, but "
                        "round has 16"));
  EXPECT_THAT(problems_of({.expert = 3, .data = 4}),
              HasSubstr("experts over 3 devices do not divide the 4 of a stage"));
  EXPECT_THAT(problems_of({.order = "tp-dp-pp"}), HasSubstr("'tp-dp-pp' is no order of ranks"));
  EXPECT_THAT(problems_of({.order = "tp-tp-cp-dp-pp"}), HasSubstr("no order of ranks"));
  EXPECT_THAT(
      problems_of(
          {.expert = 2, .expert_tensor = 1, .data = 4, .pipeline = 2, .order = "tp-cp-ep-pp-dp"}),
      HasSubstr("layers with experts have other stages"));
  const std::string many = problems_of({.tensor = 0, .data = -1, .order = ""});
  EXPECT_THAT(many, HasSubstr("tensor is 0"));
  EXPECT_THAT(many, HasSubstr("data is -1"));
  EXPECT_THAT(many, HasSubstr("'' is no order"));
  const std::int32_t most = kMostDevices;
  EXPECT_THAT(problems_of({.tensor = most,
                           .context = most,
                           .expert = most,
                           .expert_tensor = INT32_MAX,
                           .data = most,
                           .pipeline = most}),
              HasSubstr("round has 16"));
}

// Along any dimensions the groups are a partition of the devices into equal parts.
RC_GTEST_PROP(Placement, GroupsArePartitions, ()) {
  Placement placement = {.tensor = *rc::gen::element(1, 2, 4),
                         .context = *rc::gen::element(1, 2, 3),
                         .data = *rc::gen::element(1, 2, 5, 8),
                         .pipeline = *rc::gen::element(1, 2, 3)};
  placement.order = *rc::gen::element<std::string>("tp-cp-ep-dp-pp", "pp-dp-tp-cp-ep",
                                                   "dp-ep-cp-tp-pp", "pp-ep-dp-cp-tp");
  placement.expert_tensor = *rc::gen::element(0, 1);
  placement.expert = placement.data;
  const Cluster cluster = round_cluster(128);
  RC_ASSERT(check_placement(placement, cluster).empty());
  const auto devices = static_cast<std::int32_t>(placement.devices());
  for (const std::vector<Dimension>& along :
       std::vector<std::vector<Dimension>>{{Dimension::Tensor},
                                           {Dimension::Data, Dimension::Context},
                                           {Dimension::Pipeline},
                                           {Dimension::Expert},
                                           {Dimension::ExpertData, Dimension::ExpertTensor}}) {
    std::vector<int> seen(static_cast<std::size_t>(devices), 0);
    for (std::int32_t d = 0; d < devices; ++d) {
      const std::vector<std::int32_t> group = group_of(placement, along, d);
      RC_ASSERT(std::find(group.begin(), group.end(), d) != group.end());
      RC_ASSERT(group_of(placement, along, group.front()) == group);
      if (group.front() != d) continue;
      for (const std::int32_t member : group) ++seen.at(static_cast<std::size_t>(member));
    }
    RC_ASSERT(seen == std::vector<int>(seen.size(), 1));
  }
  for (std::int32_t stage = 0; stage < placement.pipeline; ++stage) {
    RC_ASSERT(group_of(placement, {Dimension::Pipeline}, 0)[static_cast<std::size_t>(stage)] ==
              stage_device(placement, 0, stage));
  }
}

}  // namespace
}  // namespace penstock
