#include "data/token_layout.h"

#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "penstock/error.h"

namespace penstock {

namespace {

constexpr std::size_t kLlmcHeader = 256 * sizeof(std::int32_t);
constexpr std::int32_t kGpt2Magic = 20240520;
constexpr std::int32_t kLlama3Magic = 20240801;

// REQUIRES: offset + sizeof(V) <= bytes.size().
template <class V>
V read(std::span<const std::byte> bytes, std::size_t offset) {
  V value;
  std::memcpy(&value, bytes.data() + offset, sizeof(V));
  return value;
}

std::optional<TokenType> megatron_type(std::uint8_t code) {
  switch (code) {
    case 1:
      return TokenType::U8;
    case 2:
      return TokenType::I8;
    case 3:
      return TokenType::I16;
    case 4:
      return TokenType::I32;
    case 5:
      return TokenType::I64;
    case 8:
      return TokenType::U16;
    default:
      return std::nullopt;  // 6 and 7 are floating point
  }
}

struct MegatronHeader {
  TokenType type;
  std::size_t sequences;
};

// magic (9 bytes), version u64, type u8, sequences u64, documents u64.
constexpr std::size_t kMegatronHeader = 9 + 8 + 1 + 8 + 8;

MegatronHeader megatron_header(std::span<const std::byte> index, const std::string& where) {
  constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
  if (index.size() < kMegatronHeader) {
    throw Error(
        where,
        fmt::format("{} bytes are too few for the header of {}", index.size(), kMegatronHeader),
        "the file is truncated; write it again");
  }
  if (std::memcmp(index.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error(where + ":0", "no MMIDIDX magic", "give the .bin whose .idx Megatron wrote");
  }
  if (const auto version = read<std::uint64_t>(index, 9); version != 1) {
    throw Error(where + ":9", fmt::format("version {} is not known", version), "version 1 is read");
  }
  const auto code = read<std::uint8_t>(index, 17);
  const auto type = megatron_type(code);
  if (!type) {
    throw Error(where + ":17", fmt::format("type code {} holds no tokens", code),
                "1 to 5 and 8 (integers) are read");
  }
  const auto sequences = read<std::uint64_t>(index, 18);
  const std::size_t room = (index.size() - kMegatronHeader) / (4 + 8);
  if (sequences > room) {
    throw Error(where + ":18", fmt::format("{} sequences announced, room for {}", sequences, room),
                "the file is truncated; write it again");
  }
  const auto documents = read<std::uint64_t>(index, 26);
  const std::size_t entries = (index.size() - kMegatronHeader - (4 + 8) * sequences) / 8;
  if (documents > entries) {
    throw Error(where + ":26",
                fmt::format("{} document entries announced, {} held", documents, entries),
                "the file is truncated; write it again");
  }
  return {*type, static_cast<std::size_t>(sequences)};
}

}  // namespace

std::size_t token_bytes(TokenType type) {
  switch (type) {
    case TokenType::U8:
    case TokenType::I8:
      return 1;
    case TokenType::U16:
    case TokenType::I16:
      return 2;
    case TokenType::U32:
    case TokenType::I32:
      return 4;
    case TokenType::I64:
      return 8;
  }
  return 1;
}

bool is_llmc(std::span<const std::byte> file) {
  if (file.size() < 2 * sizeof(std::int32_t)) return false;
  const auto magic = read<std::int32_t>(file, 0);
  return magic == kGpt2Magic || magic == kLlama3Magic;
}

TokenLayout llmc_layout(std::span<const std::byte> file, const std::string& where) {
  if (file.size() < kLlmcHeader) {
    throw Error(
        where,
        fmt::format("{} bytes are too few for llm.c's header of {}", file.size(), kLlmcHeader),
        "the file is truncated; write it again");
  }
  const auto magic = read<std::int32_t>(file, 0);
  if (!is_llmc(file)) {
    throw Error(where + ":0", fmt::format("magic {} is not llm.c's", magic),
                fmt::format("{} (GPT-2) and {} (Llama-3) are read", kGpt2Magic, kLlama3Magic));
  }
  const bool gpt2 = magic == kGpt2Magic;
  const std::int32_t wanted = gpt2 ? 1 : 7;
  if (const auto version = read<std::int32_t>(file, 4); version != wanted) {
    throw Error(where + ":4", fmt::format("version {} is not known", version),
                fmt::format("version {} is read with magic {}", wanted, magic));
  }
  const TokenType type = gpt2 ? TokenType::U16 : TokenType::U32;
  const auto count = read<std::int32_t>(file, 8);
  const std::size_t body = file.size() - kLlmcHeader;
  if (count < 0 || static_cast<std::size_t>(count) * token_bytes(type) != body) {
    throw Error(where + ":8",
                fmt::format("{} tokens announced, {} held", count, body / token_bytes(type)),
                "the file is truncated, or its header another's; write it again");
  }
  return {.type = type, .offset = kLlmcHeader, .count = static_cast<std::size_t>(count)};
}

TokenLayout headerless_layout(std::span<const std::byte> file, std::int32_t token_bytes,
                              const std::string& where) {
  if (token_bytes != 1 && token_bytes != 2 && token_bytes != 4) {
    throw Error("train.token_bytes", fmt::format("{} bytes per token", token_bytes),
                "1, 2 or 4; nanoGPT writes 2");
  }
  const auto width = static_cast<std::size_t>(token_bytes);
  if (file.size() % width != 0) {
    throw Error(
        where,
        fmt::format("{} bytes are no whole number of {}-byte tokens", file.size(), token_bytes),
        "check train.token_bytes, or the file is truncated");
  }
  const TokenType type = width == 1 ? TokenType::U8 : width == 2 ? TokenType::U16 : TokenType::U32;
  return {.type = type, .offset = 0, .count = file.size() / width};
}

TokenLayout megatron_layout(std::span<const std::byte> index, std::span<const std::byte> tokens,
                            const std::string& where) {
  const MegatronHeader header = megatron_header(index, where);
  const std::size_t width = token_bytes(header.type);
  const std::size_t lengths = kMegatronHeader;
  const std::size_t offsets = lengths + 4 * header.sequences;
  std::size_t count = 0;
  for (std::size_t i = 0; i < header.sequences; ++i) {
    const auto length = read<std::int32_t>(index, lengths + 4 * i);
    const auto offset = read<std::int64_t>(index, offsets + 8 * i);
    if (length < 0 || offset < 0 || static_cast<std::size_t>(offset) != count * width) {
      throw Error(where,
                  fmt::format("sequence {} (length {}, offset {}) does not follow the one "
                              "before",
                              i, length, offset),
                  "only files whose sequences lie one after the other are read");
    }
    count += static_cast<std::size_t>(length);
  }
  if (count * width > tokens.size()) {
    throw Error(where,
                fmt::format("{} tokens of {} bytes announced, the .bin holds {} bytes", count,
                            width, tokens.size()),
                "the .bin is truncated, or the two files do not belong together");
  }
  return {.type = header.type, .offset = 0, .count = count};
}

}  // namespace penstock
