// What the CPU device is made of besides maths: hashes and buffers.
#include <gtest/gtest.h>

#include "device/digest.h"
#include "device/slots.h"
#include "device/versions.h"
#include "model/parameters.h"
#include "tiny_models.h"

namespace penstock::testing {
namespace {

// FIPS 180-2, appendix B.1.
TEST(Sha256, GivesThePublishedDigests) {
  const std::string text = "abc";
  EXPECT_EQ(sha256(std::as_bytes(std::span(text))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::span<const std::byte>()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, OfFloatsIsThatOfTheirBytes) {
  const std::vector<float> values{1.0f, -2.0f};
  const std::vector<unsigned char> bytes{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
  EXPECT_EQ(sha256(std::span<const float>(values)), sha256(std::as_bytes(std::span(bytes))));
}

std::vector<Op> ops(std::initializer_list<const char*> texts) {
  std::vector<Op> parsed;
  for (const char* text : texts) parsed.push_back(parse_op(text).value());
  return parsed;
}

Units unsliced(std::int32_t microbatches) {
  return Units(loop_pipeline(1, 1, microbatches));
}

TEST(Slots, AreAsManyAsThePeakInFlight) {
  const auto one_f_one_b = share_out(ops({"0F0", "0F1", "0B0", "0F2", "0B1", "0B2"}), unsliced(3));
  EXPECT_EQ(one_f_one_b.kept_count, 2);
  EXPECT_EQ(one_f_one_b.kept, (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(one_f_one_b.gradient_count, 1);
  EXPECT_EQ(one_f_one_b.weight_gradients, 3);
}

TEST(Slots, AreHeldUntilTheWeightGradient) {
  const auto split =
      share_out(ops({"0F0", "0I0", "0F1", "0I1", "0W0", "0F2", "0B2", "0W1"}), unsliced(3));
  EXPECT_EQ(split.kept, (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(split.gradient, (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(split.gradient_count, 2);
}

// The last slice's backward adds to the gradients of all earlier slices' keys and values.
TEST(Slots, OfSlicesHoldGradientsFromTheFirstBackward) {
  Pipeline pipeline = loop_pipeline(1, 1, 2);
  pipeline.microbatches[0].slice_tokens = {3, 1};
  const auto slots =
      share_out(ops({"0F0", "0F0.1", "0B0.1", "0F1", "0B0", "0B1"}), Units(pipeline));
  EXPECT_EQ(slots.kept, (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_EQ(slots.kept_count, 2);
  EXPECT_EQ(slots.gradient, (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(slots.gradient_count, 2);
  EXPECT_EQ(slots.weight_gradients, 3);
}

// 0F1 computes in a buffer that R of microbatch 0 takes next; microbatch 2 has no R.
TEST(Slots, OfRecomputationAreTakenByR) {
  const auto slots =
      share_out(ops({"0F0", "0F1", "0R0", "0F2", "0B0", "0R1", "0I1", "0B2", "0W1"}), unsliced(3));
  EXPECT_EQ(slots.kept, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(slots.at_first, (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(slots.remade, (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(slots.remade_count, 2);
  EXPECT_EQ(share_out(ops({"0F0", "0B0"}), unsliced(1)).remade_count, 0);
}

TEST(Slots, OfForwardsAloneAreFreeAgain) {
  EXPECT_EQ(share_out(ops({"0F0", "0F1", "0F2"}), unsliced(3)).kept_count, 1);
  Pipeline pipeline = loop_pipeline(1, 1, 2);
  pipeline.microbatches[0].slice_tokens = {3, 1};  // the second attends to the first
  const auto slots = share_out(ops({"0F0", "0F0.1", "0F1"}), Units(pipeline));
  EXPECT_EQ(slots.kept, (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(slots.gradient_count, 0);
}

// Batches of two, each computed with the weights from before the last update.
TEST(VersionsOfWeights, AreThoseThatForwardsRead) {
  const auto order = ops({"0F0", "0F1", "0B0", "0B1", "0F2", "0B2", "0F3", "0U1", "0B3", "0U3"});
  Versions versions(order, unsliced(4));
  EXPECT_EQ(versions.value_buffers(), 2);
  EXPECT_EQ(versions.gradient_buffers(), 2);  // of 0B2 before 0U1 applies those of 0 and 1
  const std::int32_t first = versions.current();
  std::vector<std::int32_t> gradients;
  for (const Op& op : order) {
    if (op.kind == OpKind::Update) {
      const std::int32_t before = versions.current();
      const Versions::Update update = versions.update();
      EXPECT_EQ(update.gradients, gradients[static_cast<std::size_t>(op.microbatch)]);
      EXPECT_EQ(update.to, versions.current());
      EXPECT_EQ(update.to == before, op.microbatch == 3) << "nobody reads it any more";
      continue;
    }
    EXPECT_EQ(versions.values_of(op), first) << to_string(op);
    if (op.kind == OpKind::Backward) gradients.push_back(versions.gradients_of(op));
    versions.finish(op);
  }
  EXPECT_NE(versions.current(), first);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_NE(gradients[1], gradients[2]);
  EXPECT_EQ(gradients[2], gradients[3]);
}

TEST(VersionsOfWeights, AreOneWithAFlush) {
  Versions versions(ops({"0F0", "0F1", "0B0", "0B1"}), unsliced(2));
  EXPECT_EQ(versions.value_buffers(), 1);
  EXPECT_EQ(versions.gradient_buffers(), 1);
  EXPECT_FALSE(versions.updates_inside());
}

TEST(Parameters, TiedEmbeddingHasOneAccumulatorPerUse) {
  const Model model = tiny_gpt2();
  const std::int32_t end = model.layers + 2;
  Parameters<float> whole(model, {0, end});
  EXPECT_EQ(whole.shared(), nullptr);
  const auto embedding = whole.find(0, "wte.weight");
  EXPECT_EQ(whole.head_weight().value(), embedding.value());
  EXPECT_NE(whole.head_weight().gradient(), embedding.gradient());
  embedding.gradient()[3] = 1;
  whole.head_weight().gradient()[3] = 2;
  whole.fold_tied();
  EXPECT_EQ(embedding.gradient()[3], 3);
  whole.clear_gradients();
  whole.fold_tied();
  EXPECT_EQ(embedding.gradient()[3], 0);

  Parameters<float> first(model, {0, 2});
  Parameters<float> last(model, {2, end});
  ASSERT_NE(first.shared(), nullptr);
  ASSERT_NE(last.shared(), nullptr);
  EXPECT_EQ(first.shared()->tensor, last.shared()->tensor);
  EXPECT_EQ(last.head_weight().gradient(), last.gradients(*last.shared()).data());

  Parameters<float> middle(model, {1, 3});
  EXPECT_EQ(middle.shared(), nullptr);
}

}  // namespace
}  // namespace penstock::testing
