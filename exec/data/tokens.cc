#include "data/tokens.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "penstock/error.h"

namespace penstock {

namespace {

constexpr const char* kLicences = "/usr/share/common-licenses";

// REQUIRES: the value lies inside.
template <class V>
std::int64_t value_at(const std::byte* place) {
  V value;
  std::memcpy(&value, place, sizeof(V));
  return static_cast<std::int64_t>(value);
}

std::vector<std::byte> read_texts(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::error_code ignored;
    if (entry.is_symlink(ignored) || !entry.is_regular_file(ignored)) continue;
    files.push_back(entry.path());
  }
  if (failed) throw Error(folder.string(), failed.message(), "give a text file as train.data");
  std::ranges::sort(files);
  std::vector<std::byte> text;
  for (const auto& file : files) {
    const MappedFile mapped(file.string());
    text.insert(text.end(), mapped.bytes().begin(), mapped.bytes().end());
  }
  return text;
}

// A file that says how wide its tokens are must not be told otherwise.
void check_width(const TrainSettings& train, const TokenLayout& layout) {
  const std::size_t width = token_bytes(layout.type);
  if (train.token_bytes == 0 || static_cast<std::size_t>(train.token_bytes) == width) return;
  throw Error(fmt::format("train.token_bytes: {}", train.token_bytes),
              fmt::format("{} holds tokens of {} bytes", train.data, width),
              "leave token_bytes out: it is for files without a header");
}

}  // namespace

Tokens::Tokens(std::string where, MappedFile file, TokenLayout layout)
    : where_(std::move(where)), file_(std::move(file)), layout_(layout) {}

Tokens::Tokens(std::string where, std::vector<std::byte> bytes)
    : where_(std::move(where)),
      text_(std::move(bytes)),
      layout_{.type = TokenType::U8, .offset = 0, .count = text_.size()} {}

std::int64_t Tokens::at(std::int64_t index) const {
  const std::byte* place =
      bytes().data() + layout_.offset + static_cast<std::size_t>(index) * token_bytes(layout_.type);
  switch (layout_.type) {
    case TokenType::U8:
      return value_at<std::uint8_t>(place);
    case TokenType::I8:
      return value_at<std::int8_t>(place);
    case TokenType::U16:
      return value_at<std::uint16_t>(place);
    case TokenType::I16:
      return value_at<std::int16_t>(place);
    case TokenType::U32:
      return value_at<std::uint32_t>(place);
    case TokenType::I32:
      return value_at<std::int32_t>(place);
    case TokenType::I64:
      return value_at<std::int64_t>(place);
  }
  return -1;
}

Tokens open_tokens(const TrainSettings& train) {
  const std::filesystem::path path = train.data.empty() ? kLicences : train.data;
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return {path.string(), read_texts(path)};

  MappedFile file(path.string());
  if (is_llmc(file.bytes())) {
    const TokenLayout layout = llmc_layout(file.bytes(), path.string());
    check_width(train, layout);
    return {path.string(), std::move(file), layout};
  }
  std::filesystem::path index = path;
  index.replace_extension(".idx");
  if (path.extension() == ".bin" && std::filesystem::exists(index, failed)) {
    const MappedFile mapped(index.string());
    const TokenLayout layout = megatron_layout(mapped.bytes(), file.bytes(), index.string());
    check_width(train, layout);
    return {path.string(), std::move(file), layout};
  }
  if (train.token_bytes != 0) {
    const TokenLayout layout = headerless_layout(file.bytes(), train.token_bytes, path.string());
    return {path.string(), std::move(file), layout};
  }
  if (path.extension() == ".bin") {
    throw Error(path.string(), "neither llm.c's magic nor an .idx file beside it",
                "a headerless token file (nanoGPT) needs train.token_bytes: 2");
  }
  const TokenLayout layout{.type = TokenType::U8, .offset = 0, .count = file.bytes().size()};
  return {path.string(), std::move(file), layout};
}

Windows::Windows(Tokens tokens, std::int32_t sequence)
    : tokens_(std::move(tokens)),
      length_(std::int64_t{sequence} + 1),
      count_(tokens_.count() / length_) {
  if (count_ > 0) return;
  throw Error(tokens_.where(),
              fmt::format("{} tokens are too few for one sequence of {} and its target",
                          tokens_.count(), sequence),
              "give more data, or a shorter batch.sequence");
}

void Windows::read(std::int64_t window, std::span<std::int32_t> tokens) const {
  const std::int64_t first = window * length_;
  for (std::int64_t i = 0; i < length_; ++i) {
    tokens[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(tokens_.at(first + i));
  }
}

void Windows::check(std::int64_t windows, std::int32_t vocabulary) const {
  const std::int64_t end = std::min(windows, count_) * length_;
  for (std::int64_t i = 0; i < end; ++i) {
    const std::int64_t token = tokens_.at(i);
    if (0 <= token && token < vocabulary) continue;
    throw Error(fmt::format("{}: token {}", tokens_.where(), i),
                fmt::format("{} is not in the vocabulary of {}", token, vocabulary),
                "the data was made for another model; text needs vocab_size 256 or more");
  }
}

}  // namespace penstock
