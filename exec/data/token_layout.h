// File: token_layout.h. Where the tokens lie in a file, for each format that is read.
//
// These functions look at bytes only, so that a fuzzer can drive them. `where` names the file in
// messages. All throw Error with place and hint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penstock {

enum class TokenType : std::uint8_t { U8, I8, U16, I16, U32, I32, I64 };
std::size_t token_bytes(TokenType type);

// `count` tokens of `type`, little-endian, from byte `offset`.
struct TokenLayout {
  TokenType type = TokenType::U8;
  std::size_t offset = 0;
  std::size_t count = 0;
};

// llm.c's .bin: 256 int32 of header (magic, version, count), then the tokens. GPT-2: magic
// 20240520, version 1, uint16; Llama-3: magic 20240801, version 7, uint32.
// Source: llm.c, dev/data/data_common.py.
bool is_llmc(std::span<const std::byte> file);
TokenLayout llmc_layout(std::span<const std::byte> file, const std::string& where);

// nanoGPT's .bin: no header. `token_bytes`: 1, 2 or 4.
TokenLayout headerless_layout(std::span<const std::byte> file, std::int32_t token_bytes,
                              const std::string& where);

// Megatron's pair: `index` is the .idx file, `tokens` the .bin file it describes.
// Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
TokenLayout megatron_layout(std::span<const std::byte> index, std::span<const std::byte> tokens,
                            const std::string& where);

}  // namespace penstock
