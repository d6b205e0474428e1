// What generate() refuses, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/error.h"
#include "penstock/generate.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> refusal(const char* name, const GenerateOptions& options) {
  std::vector<std::string> texts;
  try {
    generate(name, options);
  } catch (const Error& error) {
    for (const Problem& problem : error.problems()) texts.push_back(to_string(problem));
  }
  return texts;
}

TEST(Refuse, UnknownNames) {
  EXPECT_THAT(refusal("gpip", {}), ElementsAre("schedule: no schedule is called 'gpip'\n"
                                               "  hint: did you mean 'gpipe'?"));
  EXPECT_THAT(refusal("", {}), ElementsAre(HasSubstr("no schedule is called ''\n  hint: known: ")));
  EXPECT_THAT(refusal("interleaved_1f1b", {.chunks = 2, .option = {{"grup", "4"}}}),
              ElementsAre("option grup: interleaved_1f1b has no such option\n"
                          "  hint: did you mean 'group'?"));
  EXPECT_THAT(refusal("1f1b", {.option = {{"group", "4"}, {"variant", "torch"}}}),
              ElementsAre("option group: 1f1b has no such option\n  hint: it takes none",
                          "option variant: 1f1b has no such option\n  hint: it takes none"));
}

TEST(Refuse, SizesBelowOneAllAtOnce) {
  for (const Generator& generator : generators()) {
    EXPECT_THAT(refusal(generator.name.data(), {.actors = 0, .chunks = -1, .microbatches = 0}),
                ElementsAre("actors: 0 is below 1\n  hint: at least 1",
                            "chunks: -1 is below 1\n  hint: at least 1",
                            "microbatches: 0 is below 1\n  hint: at least 1"))
        << generator.name;
  }
}

TEST(Refuse, HugeSizes) {
  constexpr std::int32_t kMost = 2147483647;
  for (const Generator& generator : generators()) {
    const char* name = generator.name.data();
    EXPECT_THAT(refusal(name, {.actors = kMost, .chunks = kMost, .microbatches = kMost}),
                ElementsAre("actors: 2147483647 actors are more than supported\n"
                            "  hint: at most 65536"));
    EXPECT_THAT(refusal(name, {.actors = 8, .chunks = kMost, .microbatches = kMost}),
                ElementsAre(HasSubstr("make more than 50 million ops\n"
                                      "  hint: ask for fewer microbatches")));
    EXPECT_THAT(refusal(name, {.actors = 1, .microbatches = kMost}),
                ElementsAre(HasSubstr("make more than 50 million ops")));
  }
}

TEST(Refuse, Slices) {
  EXPECT_THAT(refusal("gpipe", {.slices = 2}),
              ElementsAre("slices: gpipe does not slice microbatches\n  hint: leave out slices"));
}

TEST(Refuse, SlicesThatAreNotTheSequence) {
  const auto refused = [](int slices, int sequence, const char* tokens) {
    GenerateOptions options{.actors = 2, .microbatches = 2, .slices = slices, .sequence = sequence};
    if (tokens != nullptr) options.option["tokens"] = tokens;
    const std::vector<std::string> one = refusal("seq1f1b", options);
    EXPECT_EQ(one, refusal("terapipe", options));
    return one;
  };
  EXPECT_THAT(refused(1, 8, "3,3"),
              ElementsAre("option tokens: slices of 3, 3 tokens add up to 6, the sequence has 8\n"
                          "  hint: 4, 4 would do"));
  EXPECT_THAT(refused(2, 9, "5,5"),
              ElementsAre("option tokens: slices of 5, 5 tokens add up to 10, the sequence has 9\n"
                          "  hint: 5, 4 would do"));
  EXPECT_THAT(refused(3, 8, "3,3"), ElementsAre("option tokens: 2 lengths for 3 slices\n"
                                                "  hint: one per slice, or leave out slices",
                                                HasSubstr("add up to 6, the sequence has 8")));
  EXPECT_THAT(refused(9, 8, nullptr),
              ElementsAre("slices: 9 slices of a sequence of 8 tokens\n"
                          "  hint: at most 8: a slice has at least one token"));
  EXPECT_THAT(refused(1, 1, "1,1,1"), ElementsAre(HasSubstr("hint: ask for fewer slices")));
  EXPECT_THAT(refused(1, 0, "4,0,x,"), ElementsAre("option tokens: '0' is no positive number\n"
                                                   "  hint: for example tokens=512,512",
                                                   HasSubstr("'x' is no positive number"),
                                                   HasSubstr("'' is no positive number")));
  EXPECT_THAT(refused(8, 8, nullptr), testing::IsEmpty());
}

TEST(Refuse, GroupsThatSlicedChunksDoNotFill) {
  const auto refused = [](int microbatches, int slices) {
    return refusal("seq1f1b",
                   {.actors = 4, .chunks = 2, .microbatches = microbatches, .slices = slices});
  };
  EXPECT_THAT(refused(7, 2), ElementsAre("microbatches: seq1f1b with 2 chunks takes microbatches "
                                         "in groups of 2, which 7 are not\n"
                                         "  hint: 6 or 8 microbatches would do"));
  EXPECT_THAT(refused(1, 3), ElementsAre(HasSubstr("hint: 2 microbatches would do")));
  EXPECT_THAT(refused(1, 4), testing::IsEmpty());
}

TEST(Refuse, BatchesThatTwoVersionsCannotSpan) {
  EXPECT_THAT(refusal("pipedream_2bw", {.actors = 4, .microbatches = 3}),
              ElementsAre(HasSubstr("two versions of the weights would not do\n"
                                    "  hint: at least 4 microbatches per update")));
  EXPECT_THAT(
      refusal("pipedream_2bw", {.actors = 4, .microbatches = 4, .option = {{"steps", "0"}}}),
      ElementsAre("option steps: '0' is no positive number\n  hint: for example steps=4"));
  EXPECT_THAT(refusal("pipedream_2bw",
                      {.actors = 4, .microbatches = 1000, .option = {{"steps", "2000000000"}}}),
              ElementsAre(HasSubstr("make more than 50 million ops")));
}

TEST(Refuse, WindowsThatMakeNoSense) {
  const auto refused = [](std::map<std::string, std::string> option) {
    return refusal("local", {.actors = 4, .microbatches = 2, .option = std::move(option)});
  };
  EXPECT_THAT(refused({{"window", "5"}}),
              ElementsAre("option window: windows of 5 stages, but there are 4\n  hint: at most 4: "
                          "one window over all stages is backpropagation"));
  EXPECT_THAT(refused({{"window", "2"}, {"stride", "3"}}),
              ElementsAre("option stride: windows of 2 stages every 3 stages leave stages out\n"
                          "  hint: at most 2"));
  EXPECT_THAT(refused({{"variant", "greedy"}, {"window", "2"}}),
              ElementsAre("option window: greedy has windows of 1 stage\n"
                          "  hint: leave out window, or say chunked"));
  EXPECT_THAT(refused({{"variant", "overlapping"}, {"stride", "2"}}),
              ElementsAre(HasSubstr("windows of 2 every 2 stages do not overlap")));
  EXPECT_THAT(refused({{"variant", "chunked"}, {"stride", "1"}}),
              ElementsAre("option stride: windows of 2 every 1 stages overlap\n"
                          "  hint: say overlapping, or stride=2"));
  EXPECT_THAT(refused({{"capacity", "0"}, {"aux", "head"}, {"variant", "pplm"}}),
              ElementsAre("option variant: no variant 'pplm'\n  hint: did you mean 'ppll'?",
                          HasSubstr("no aux 'head'"),
                          "option capacity: '0' is no positive number\n"
                          "  hint: for example capacity=4"));
}

TEST(Refuse, ChunksWhereThereIsOneStageEach) {
  for (const char* name :
       {"gpipe", "1f1b", "eager_1f1b", "zb_h1", "zb_h2", "terapipe", "local", "pipedream_2bw"}) {
    EXPECT_THAT(refusal(name, {.actors = 2, .chunks = 2, .microbatches = 2}),
                ElementsAre(std::string("chunks: ") + name +
                            " has one stage per actor, not 2\n"
                            "  hint: interleaved_1f1b, looped_bfs and interleaved_zb1p take "
                            "several"));
  }
}

TEST(Refuse, ChunksOtherThanTheTwoOfAV) {
  for (const char* name : {"zb_v", "v_half", "v_min", "1f1b_v"}) {
    EXPECT_THAT(refusal(name, {.actors = 2, .chunks = 3, .microbatches = 2}),
                ElementsAre(std::string("chunks: ") + name +
                            " has 2 stages per actor, not 3\n"
                            "  hint: leave out chunks, or say 2"));
    EXPECT_EQ(generate(name, {.actors = 2, .microbatches = 4}),
              generate(name, {.actors = 2, .chunks = 2, .microbatches = 4}));
  }
}

TEST(Refuse, GridsTooLargeToLayOut) {
  for (const char* name : {"v_half", "v_min", "1f1b_v"}) {
    EXPECT_THAT(refusal(name, {.actors = 65536, .microbatches = 1}),
                ElementsAre(std::string("schedule: ") + name +
                            " lays out 65536 actors and 1 microbatches on a grid of more than 20 "
                            "million slots\n  hint: at most 1689 actors"));
    EXPECT_THAT(refusal(name, {.actors = 2, .microbatches = 4000000}),
                ElementsAre(HasSubstr("at most 1666664 microbatches on so many actors")));
    EXPECT_THAT(refusal(name, {.actors = 100, .microbatches = 100}), testing::IsEmpty());
  }
}

TEST(Refuse, WhatDualPipeRefusesAllAtOnce) {
  const auto refused = [](int actors, int microbatches, int chunks = 1) {
    return refusal("dualpipe", {.actors = actors, .chunks = chunks, .microbatches = microbatches});
  };
  const std::string odd =
      "actors: dualpipe feeds its actors from both ends and needs an even "
      "number, not ";
  const std::string few =
      "microbatches: dualpipe sends half of the microbatches each way and needs "
      "an even number of at least two per actor, not ";
  EXPECT_THAT(refused(5, 10), ElementsAre(odd + "5\n  hint: 4 or 6 actors"));
  EXPECT_THAT(refused(1, 2), ElementsAre(odd + "1\n  hint: 2 actors"));
  EXPECT_THAT(refused(4, 6), ElementsAre(few + "6 on 4 actors\n  hint: 8 microbatches"));
  EXPECT_THAT(refused(4, 1), ElementsAre(few + "1 on 4 actors\n  hint: 8 microbatches"));
  EXPECT_THAT(refused(4, 9), ElementsAre(few + "9 on 4 actors\n  hint: 8 or 10 microbatches"));
  EXPECT_THAT(refused(4, 7), ElementsAre(few + "7 on 4 actors\n  hint: 8 microbatches"));
  EXPECT_THAT(refused(4, 8), testing::IsEmpty());
  EXPECT_THAT(refused(4, 8, 2), testing::IsEmpty());
  EXPECT_THAT(
      refusal("dualpipe",
              {.actors = 3, .chunks = 4, .microbatches = 3, .option = {{"fused", "yes"}}}),
      ElementsAre("chunks: dualpipe has 2 stages per actor, not 4\n"
                  "  hint: leave out chunks, or say 2",
                  odd + "3\n  hint: 2 or 4 actors", few + "3 on 3 actors\n  hint: 6 microbatches",
                  "option fused: 'yes' is neither 0 nor 1\n  hint: the default is 1"));
}

TEST(Refuse, WhatDualPipeVRefusesAllAtOnce) {
  EXPECT_THAT(
      refusal("ScheduleDualPipeV", {.actors = 4,
                                    .chunks = 3,
                                    .microbatches = 7,
                                    .option = {{"variant", "jaxp"}, {"fused", "2"}}}),
      ElementsAre("chunks: dualpipev has 2 stages per actor, not 3\n"
                  "  hint: leave out chunks, or say 2",
                  "microbatches: dualpipev fills both arms of its V and needs at least two "
                  "microbatches per actor, not 7 on 4 actors\n  hint: 8 microbatches or more",
                  "option variant: no variant 'jaxp'\n  hint: did you mean 'jaxpp'?",
                  "option fused: '2' is neither 0 nor 1\n  hint: the default is 1"));
  EXPECT_THAT(refusal("dualpipev", {.actors = 3, .microbatches = 7}), testing::IsEmpty());
  EXPECT_THAT(refusal("dualpipev", {.actors = 1, .microbatches = 1}),
              ElementsAre(HasSubstr("hint: 2 microbatches or more")));
}

TEST(Refuse, WhatChimeraRefuses) {
  const auto refused = [](int actors, int chunks, const char* pipes) {
    return refusal(
        "chimera",
        {.actors = actors, .chunks = chunks, .microbatches = 4, .option = {{"pipes", pipes}}});
  };
  const std::string odd =
      "actors: chimera's pipes meet in the middle of an even number of actors, "
      "not ";
  EXPECT_THAT(refused(5, 1, "2"), ElementsAre(odd + "5\n  hint: 4 or 6 actors"));
  EXPECT_THAT(refused(1, 1, "2"), ElementsAre(odd + "1\n  hint: 2 actors"));
  EXPECT_THAT(refused(12, 1, "8"),
              ElementsAre("option pipes: 8 pipes are not pairs that start at equal distances on 12 "
                          "actors\n  hint: one of 2, 4, 6, 12"));
  EXPECT_THAT(refused(65536, 1, "65536"),
              ElementsAre("option pipes: 65536 pipes over 65536 actors each make more than 4000000 "
                          "stages\n  hint: one of 2, 4, 8, 16, 32"));
  EXPECT_THAT(refused(6, 1, "2147483646"), ElementsAre(HasSubstr("hint: one of 2, 6")));
  EXPECT_THAT(refused(6, 1, "3"), ElementsAre(HasSubstr("3 pipes are not pairs")));
  EXPECT_THAT(refused(4, 1, "none"), ElementsAre(HasSubstr("'none' is no positive number")));
  EXPECT_THAT(refused(4, 3, "2"), ElementsAre("chunks: chimera has 2 stages per actor, not 3\n"
                                              "  hint: leave out chunks, or say 2"));
  EXPECT_THAT(refused(4, 4, "4"), testing::IsEmpty());
  EXPECT_THAT(refused(2, 1, "2"), testing::IsEmpty());
}

TEST(Refuse, WhatBitPipeRefuses) {
  const auto refused = [](int actors, int chunks, int microbatches) {
    return refusal("bitpipe", {.actors = actors, .chunks = chunks, .microbatches = microbatches});
  };
  const std::string units =
      "microbatches: bitpipe runs units of one microbatch per actor, which do "
      "not make up ";
  EXPECT_THAT(refused(4, 1, 6), ElementsAre(units + "6 on 4 actors\n  hint: 4 or 8 microbatches"));
  EXPECT_THAT(refused(4, 1, 3), ElementsAre(units + "3 on 4 actors\n  hint: 4 microbatches"));
  EXPECT_THAT(refused(3, 1, 3),
              ElementsAre("actors: bitpipe's two Vs meet in the middle of an even number of "
                          "actors, not 3\n  hint: 2 or 4 actors"));
  EXPECT_THAT(refused(4, 3, 4), ElementsAre("chunks: bitpipe has 4 stages per actor, not 3\n"
                                            "  hint: leave out chunks, or say 4"));
  EXPECT_THAT(refused(4, 2, 4), testing::IsEmpty()) << "two on each route";
  EXPECT_THAT(refused(4, 4, 4), testing::IsEmpty());
  EXPECT_THAT(refusal("bitpipe", {.actors = 5, .option = {{"variant", "concatenated"}}}),
              ElementsAre(HasSubstr("4 or 6 actors"),
                          "option variant: no variant 'concatenated'\n"
                          "  hint: known: released, concat"));
}

TEST(Refuse, WhatHanayoRefuses) {
  EXPECT_THAT(refusal("hanayo", {.actors = 3, .chunks = 5, .microbatches = 2}),
              ElementsAre("chunks: hanayo's waves are two stages per actor each, which do not make "
                          "up 5\n  hint: 4 or 6 chunks"));
  EXPECT_THAT(refusal("hanayo", {.actors = 3, .chunks = 6, .microbatches = 2}), testing::IsEmpty());
}

TEST(Refuse, WhatTheInterleavedRulesRefuse) {
  const auto sizes = [](int microbatches, std::map<std::string, std::string> option) {
    return GenerateOptions{
        .actors = 4, .chunks = 2, .microbatches = microbatches, .option = std::move(option)};
  };
  const auto refused = [&](int microbatches, std::map<std::string, std::string> option) {
    return refusal("interleaved_1f1b", sizes(microbatches, std::move(option)));
  };
  EXPECT_THAT(refused(9, {}),
              ElementsAre("microbatches: interleaved_1f1b runs 9 microbatches on 4 actors in 2 "
                          "rounds, which do not divide them evenly\n  hint: 8 or 10 microbatches "
                          "would do"));
  EXPECT_THAT(refusal("interleaved_zb1p", sizes(11, {})),
              ElementsAre("microbatches: interleaved_zb1p runs 11 microbatches on 4 actors in 2 "
                          "rounds, which do not divide them evenly\n  hint: 10 or 12 microbatches "
                          "would do"));
  EXPECT_THAT(refused(10, {}), testing::IsEmpty()) << "two rounds of five";
  EXPECT_THAT(refused(10, {{"group", "4"}}),
              ElementsAre("option group: groups of 4 leave 2 of 10 microbatches over, too few for "
                          "4 actors\n  hint: Megatron's rule: the last group has at least as many "
                          "microbatches as actors; group=5, or 8 or 12 microbatches"));
  EXPECT_THAT(refused(10, {{"variant", "megatron"}}),
              ElementsAre(HasSubstr("groups of 4 leave 2")));
  EXPECT_THAT(refused(8, {{"group", "3"}}),
              ElementsAre("option group: a group of 3 is not between the 4 actors and the 8 "
                          "microbatches\n  hint: Megatron's rule: actors <= group <= microbatches; "
                          "group=4"));
  EXPECT_THAT(refused(8, {{"group", "9"}}), ElementsAre(HasSubstr("microbatches; group=8")));
  EXPECT_THAT(refused(3, {{"group", "4"}}), ElementsAre(HasSubstr("at least 4 microbatches")));
  EXPECT_THAT(refused(13, {{"group", "5"}}), ElementsAre(HasSubstr("group=7, or 10 or 15")));
  for (const char* text : {"0", "-1", "four", "4x", "", "99999999999"}) {
    EXPECT_THAT(refused(8, {{"group", text}}),
                ElementsAre(std::string("option group: '") + text +
                            "' is no positive number\n  hint: for example group=4"));
  }
  EXPECT_THAT(refusal("zb_v", {.actors = 4, .microbatches = 8, .option = {{"variant", "sail"}}}),
              ElementsAre("option variant: no variant 'sail'\n  hint: did you mean 'sailsg'?"));
  EXPECT_THAT(refused(8, {{"variant", "tourch"}}),
              ElementsAre("option variant: no variant 'tourch'\n  hint: did you mean 'torch'?"));
  EXPECT_THAT(refused(8, {{"variant", "torch"}, {"group", "4"}}),
              ElementsAre("option group: torch's rule has no groups\n"
                          "  hint: leave out variant=torch"));
}

}  // namespace
}  // namespace penstock
