#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/tokens.h"
#include "penstock/error.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

// Little-endian bytes of integers, one after the other.
template <class V>
std::string packed(std::initializer_list<V> values) {
  std::string bytes(values.size() * sizeof(V), '\0');
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

std::string llmc(std::int32_t magic, std::int32_t version, std::int32_t count,
                 const std::string& tokens) {
  std::string header = packed<std::int32_t>({magic, version, count});
  header.resize(1024, '\0');
  return header + tokens;
}

// Two documents of two and three tokens.
std::string megatron_index(std::uint8_t type, std::int64_t width) {
  return std::string("MMIDIDX\0\0", 9) + packed<std::uint64_t>({1}) + packed<std::uint8_t>({type}) +
         packed<std::uint64_t>({2, 3}) + packed<std::int32_t>({2, 3}) +
         packed<std::int64_t>({0, 2 * width}) + packed<std::int64_t>({0, 1, 2});
}

class Data : public ::testing::Test {
 protected:
  Data() : folder_(std::filesystem::temp_directory_path() / ("tokens" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Data() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  static std::vector<std::int64_t> all(const Tokens& tokens) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < tokens.count(); ++i) values.push_back(tokens.at(i));
    return values;
  }
  static Tokens open(const std::string& path, std::int32_t token_bytes = 0) {
    TrainSettings train;
    train.data = path;
    train.token_bytes = token_bytes;
    return open_tokens(train);
  }
  // The message of the Error that opening gives.
  static std::string refusal(const std::string& path, std::int32_t token_bytes = 0) {
    try {
      open(path, token_bytes);
    } catch (const Error& error) {
      EXPECT_FALSE(error.problems()[0].hint.empty());
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

using Values = std::vector<std::int64_t>;

TEST_F(Data, TextIsBytes) {
  EXPECT_EQ(all(open(write("text.txt", "a\xff\nz"))), (Values{97, 255, 10, 122}));
}

TEST_F(Data, FolderIsItsFilesInOrderWithoutLinks) {
  write("b", "two");
  const std::string first = write("a", "one");
  std::filesystem::create_symlink(first, folder_ / "c");
  std::filesystem::create_directory(folder_ / "d");
  EXPECT_EQ(open(folder_.string()).count(), 6);
  EXPECT_EQ(open(folder_.string()).at(0), 'o');
}

TEST_F(Data, DefaultIsTheLicenceTexts) {
  const Tokens tokens = open("");
  EXPECT_GT(tokens.count(), 100'000);
}

TEST_F(Data, ReadsLlmc) {
  const auto gpt2 = llmc(20240520, 1, 3, packed<std::uint16_t>({1, 50256, 65535}));
  EXPECT_EQ(all(open(write("gpt2.bin", gpt2))), (Values{1, 50256, 65535}));
  const auto llama = llmc(20240801, 7, 2, packed<std::uint32_t>({128000, 5}));
  EXPECT_EQ(all(open(write("llama.bin", llama))), (Values{128000, 5}));
}

TEST_F(Data, ReadsNanoGptWithTokenBytes) {
  EXPECT_EQ(all(open(write("train.bin", packed<std::uint16_t>({1, 50256})), 2)),
            (Values{1, 50256}));
}

TEST_F(Data, ReadsMegatron) {
  write("a.idx", megatron_index(8, 2));
  EXPECT_EQ(all(open(write("a.bin", packed<std::uint16_t>({1, 2, 3, 4, 50256})))),
            (Values{1, 2, 3, 4, 50256}));
  write("b.idx", megatron_index(4, 4));
  EXPECT_EQ(all(open(write("b.bin", packed<std::int32_t>({1, 2, 3, 4, 128000})))),
            (Values{1, 2, 3, 4, 128000}));
}

TEST_F(Data, RefusesWhatItCannotRead) {
  EXPECT_THAT(refusal((folder_ / "missing").string()), HasSubstr("No such file"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(write("x.bin", "abcdefgh")), HasSubstr("token_bytes: 2"));
  EXPECT_THAT(refusal(write("odd.bin", "abc"), 2), HasSubstr("3 bytes"));
  EXPECT_THAT(refusal(write("wide.bin", "abc"), 3), HasSubstr("3 bytes per token"));
  const auto pipe = folder_ / "pipe";  // nobody writes into it
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe.string()), HasSubstr("not a regular file"));
}

TEST_F(Data, RefusesAWidthThatIsNotTheFiles) {
  const auto gpt2 = write("a.bin", llmc(20240520, 1, 2, packed<std::uint16_t>({1, 2})));
  EXPECT_EQ(open(gpt2, 2).count(), 2);
  EXPECT_THAT(refusal(gpt2, 4), HasSubstr("holds tokens of 2 bytes"));
  write("b.idx", megatron_index(8, 2));
  const auto megatron = write("b.bin", packed<std::uint16_t>({1, 2, 3, 4, 5}));
  EXPECT_EQ(open(megatron, 2).count(), 5);
  EXPECT_THAT(refusal(megatron, 1), HasSubstr("holds tokens of 2 bytes"));
}

TEST_F(Data, RefusesBrokenLlmc) {
  const std::string tokens = packed<std::uint16_t>({1, 2});
  EXPECT_THAT(refusal(write("a.bin", llmc(20240520, 2, 2, tokens))), HasSubstr("version 2"));
  EXPECT_THAT(refusal(write("b.bin", llmc(20240520, 1, 3, tokens))),
              HasSubstr("3 tokens announced, 2 held"));
  EXPECT_THAT(refusal(write("e.bin", llmc(20240520, 1, 1, tokens))),
              HasSubstr("1 tokens announced, 2 held"));
  EXPECT_THAT(refusal(write("f.bin", llmc(20240520, 1, 2, tokens + "x"))), HasSubstr("truncated"));
  EXPECT_THAT(refusal(write("c.bin", llmc(20240520, 1, -1, tokens))), HasSubstr("-1 tokens"));
  EXPECT_THAT(refusal(write("d.bin", llmc(20240520, 1, 2, tokens).substr(0, 100))),
              HasSubstr("too few for llm.c's header"));
}

TEST_F(Data, RefusesBrokenMegatron) {
  const std::string index = megatron_index(8, 2);
  const std::string bin = write("a.bin", packed<std::uint16_t>({1, 2, 3, 4}));
  const auto with = [&](std::size_t place, const std::string& bytes) {
    std::string broken = index;
    broken.replace(place, bytes.size(), bytes);
    write("a.idx", broken);
    return refusal(bin);
  };
  EXPECT_THAT(with(0, "X"), HasSubstr("no MMIDIDX magic"));
  EXPECT_THAT(with(9, packed<std::uint64_t>({2})), HasSubstr("version 2"));
  EXPECT_THAT(with(17, packed<std::uint8_t>({7})), HasSubstr("type code 7"));
  EXPECT_THAT(with(18, packed<std::uint64_t>({1ull << 62})), HasSubstr("room for"));
  EXPECT_THAT(with(34, packed<std::int32_t>({-1})), HasSubstr("does not follow"));
  EXPECT_THAT(with(42, packed<std::int64_t>({8})), HasSubstr("does not follow"));
  EXPECT_THAT(with(0, "M"), HasSubstr("5 tokens of 2 bytes announced, the .bin holds 8"));
  write("a.idx", index.substr(0, index.size() - 1));
  EXPECT_THAT(refusal(bin), HasSubstr("3 document entries announced, 2 held"));
  write("a.idx", index.substr(0, 20));
  EXPECT_THAT(refusal(bin), HasSubstr("too few for the header"));
}

TEST_F(Data, WindowsDoNotOverlapAndWrapAround) {
  const Windows windows(open(write("text", "abcdefghijkl")), 3);
  EXPECT_EQ(windows.count(), 3);
  std::vector<std::int32_t> window(4);
  windows.read(1, window);
  EXPECT_EQ(window, (std::vector<std::int32_t>{'e', 'f', 'g', 'h'}));
  EXPECT_EQ(windows.index(0, 2, 1), 1);
  EXPECT_EQ(windows.index(1, 2, 1), 0);
  EXPECT_EQ(windows.index(2, 2, 1), 2);
}

TEST_F(Data, RefusesTooFewTokensAndTokensOutsideTheVocabulary) {
  const std::string path = write("text", "abc");
  EXPECT_THROW(Windows(open(path), 3), Error);
  EXPECT_NO_THROW(Windows(open(path), 2));
  const Windows windows(open(path), 2);
  EXPECT_NO_THROW(windows.check(1, 100));
  try {
    windows.check(1, 99);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("token 2: 99 is not in the vocabulary of 99"));
  }
  write("negative.idx", megatron_index(3, 2));
  const std::string negative = write("negative.bin", packed<std::int16_t>({1, 2, -3, 4, 5}));
  EXPECT_THROW(Windows(open(negative), 4).check(1, 100), Error);
}

}  // namespace
}  // namespace penstock::testing
