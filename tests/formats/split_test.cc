#include "penstock/split.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"

namespace penstock {
namespace {

Model layers(std::int32_t count) {
  Model model;
  model.layers = count;
  return model;
}

Model predicting(std::int32_t count, std::int32_t mtp_depth) {
  Model model = layers(count);
  model.mtp_depth = mtp_depth;
  return model;
}

std::string layout_message(std::string_view text, std::int32_t count) {
  return message_of([&] { parse_layout(text, layers(count)); });
}

TEST(EvenSplit, GivesTheRemainderToTheFirstParts) {
  EXPECT_EQ(even_split(layers(10), 4).first, (std::vector<std::int32_t>{0, 4, 7, 9, 12}));
  EXPECT_EQ(even_split(layers(4), 4).first, (std::vector<std::int32_t>{0, 2, 3, 4, 6}));
  EXPECT_EQ(even_split(layers(3), 1).first, (std::vector<std::int32_t>{0, 5}));
}

TEST(EvenSplit, RefusesMorePartsThanLayers) {
  EXPECT_EQ(message_of([] { even_split(layers(3), 4); }),
            "split: 4 parts for 3 layers\n"
            "  hint: fewer stages, or a layout with empty ones: \"Et||tL\"");
  EXPECT_EQ(message_of([] { even_split(layers(3), 0); }), "split: 0 parts\n  hint: at least 1");
}

TEST(Layout, ReadsMegatronsStrings) {
  EXPECT_EQ(parse_layout("Et*3|(tt|)*5,L", layers(13)).first,
            (std::vector<std::int32_t>{0, 4, 6, 8, 10, 12, 14, 15}));
  EXPECT_EQ(parse_layout("E | (t|)*3, ||L", layers(3)).first,
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 4, 4, 5}));
  EXPECT_EQ(parse_layout("E(t(t|)*2)*2|*2L", layers(6)).first,
            (std::vector<std::int32_t>{0, 3, 4, 6, 7, 7, 7, 8}));
  EXPECT_EQ(parse_layout("EtttL", layers(3)), even_split(layers(3), 1));
}

// DeepSeek-V3's layout in Megatron-LM's documentation: sixteen stages, the module for multi-token
// prediction behind the last layers.
TEST(Layout, ReadsMultiTokenPrediction) {
  const Split split = parse_layout("Et*3|(tt|)*29mL", predicting(61, 1));
  EXPECT_EQ(split.parts(), 31);
  EXPECT_EQ(split.first[30], 62);
  EXPECT_EQ(split.first[31], 64);
  EXPECT_EQ(parse_layout("Et|t|mm|L", predicting(2, 2)).first,
            (std::vector<std::int32_t>{0, 2, 3, 5, 6}));
  EXPECT_EQ(even_split(predicting(4, 2), 2).first, (std::vector<std::int32_t>{0, 3, 8}));
  const auto message = [](std::string_view text, const Model& model) {
    return message_of([&] { parse_layout(text, model); });
  };
  EXPECT_EQ(message("Etm|tmL", predicting(2, 1)),
            "layout, column 5: a layer behind 'm'\n"
            "layout, column 1: 2 multi-token prediction modules (m); the model has 1");
  EXPECT_EQ(message("EttL", predicting(2, 1)),
            "layout, column 1: 0 multi-token prediction modules (m); the model has 1");
}

TEST(Split, ProblemsNameThePlaceOfTheFile) {
  EXPECT_EQ(message_of([] { even_split(layers(3), 0, "e.json:/parallel"); }),
            "e.json:/parallel: 0 parts\n  hint: at least 1");
  EXPECT_EQ(message_of([] { parse_layout("Et)L", layers(1), "e.json:/schedule/layout"); }),
            "e.json:/schedule/layout, column 3: unmatched ')'");
}

TEST(Layout, SaysEverythingThatIsWrong) {
  EXPECT_EQ(layout_message("Ex*3|(tt|*5,m\tL*", 3),
            R"(layout, column 2: unknown letter 'x'
  hint: E embedding, t transformer layer, m multi-token prediction, L loss, | next stage, x*3 or (tt|)*3 repeats
layout, column 14: unknown letter '?'
  hint: E embedding, t transformer layer, m multi-token prediction, L loss, | next stage, x*3 or (tt|)*3 repeats
layout, column 16: '*' needs a number of times, 1 or more
layout, column 6: '(' without ')')");
  EXPECT_EQ(layout_message("Et)L)", 1),
            "layout, column 3: unmatched ')'\n"
            "layout, column 5: unmatched ')'");
  EXPECT_EQ(
      layout_message("tEt|L|", 5),
      "layout, column 1: the first block has to be E\n"
      "  hint: E embedding, t transformer layer, m multi-token prediction, L loss, | next stage, "
      "x*3 or (tt|)*3 repeats\n"
      "layout, column 2: E may only be the first block\n"
      "layout, column 6: the last block has to be L\n"
      "  hint: E embedding, t transformer layer, m multi-token prediction, L loss, | next stage, "
      "x*3 or (tt|)*3 repeats\n"
      "layout, column 5: L may only be the last block\n"
      "layout, column 1: 2 transformer layers; the model has 5");
  EXPECT_EQ(layout_message("", 1).substr(0, 45), "layout, column 1: the first block has to be E");
}

TEST(Layout, RepeatBombsAreBounded) {
  EXPECT_EQ(layout_message("E(((t*9999)*9999)*9999)L", 12),
            "layout, column 4: repeats to more than 1000000 layers and stages");
  EXPECT_EQ(layout_message("Et*99999999999999999999999L", 12),
            "layout, column 2: repeats to more than 1000000 layers and stages");
  EXPECT_EQ(layout_message("E|*20000tL", 1),
            "layout, column 1: 20001 stages; at most 10000 are allowed");
  EXPECT_EQ(layout_message(std::string(100'000, '('), 1).substr(0, 47),
            "layout, column 101: nested deeper than 100 leve");
  EXPECT_EQ(layout_message("E()*999999tL", 1), "");
}

// The first group that is too long ends the reading: the others would be unrolled for nothing.
TEST(Layout, OneRepeatBombIsEnough) {
  std::string text = "E";
  for (int i = 0; i < 2000; ++i) text += "(tt*500000)";
  const std::string message = message_of([&] { parse_layout(text, layers(4)); });
  EXPECT_EQ(message.find("repeats to more than"), message.rfind("repeats to more than"));
  EXPECT_EQ(message.find("without ')'"), std::string::npos);
}

TEST(Layout, IsWrittenShort) {
  const auto shortest = [](std::string_view text, std::int32_t count) {
    return write_layout(parse_layout(text, layers(count)));
  };
  EXPECT_EQ(shortest("Et*3|(tt|)*5,L", 13), "Et*3|(tt|)*5L");
  EXPECT_EQ(shortest("Et|t|tL", 3), "Et|t|tL");
  EXPECT_EQ(shortest("E|||||t|t|L", 2), "E||*4t|t|L");
  EXPECT_EQ(shortest("EtttttL", 5), "Et*5L");
}

RC_GTEST_PROP(Layout, RoundTrip, ()) {
  const auto count = *rc::gen::inRange(1, 40);
  const auto depth = *rc::gen::inRange(0, 6);
  const auto parts = *rc::gen::inRange<std::size_t>(1, 30);
  Split split;
  split.first = *rc::gen::container<std::vector<std::int32_t>>(
      parts - 1, rc::gen::inRange(1, count + depth + 2));
  std::sort(split.first.begin(), split.first.end());
  split.first.insert(split.first.begin(), 0);
  split.first.push_back(count + depth + 2);
  RC_ASSERT(parse_layout(write_layout(split, depth), predicting(count, depth)) == split);
}

RC_GTEST_PROP(Layout, MutationsAreReadOrRefused, ()) {
  const std::string text = mutated("Et*3|(tt|)*5,(t(t|)*2)*2L");
  try {
    const Split split = parse_layout(text, layers(19));
    RC_ASSERT(parse_layout(write_layout(split), layers(19)) == split);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace penstock
