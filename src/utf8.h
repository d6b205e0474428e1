// File: utf8.h. Text of unknown origin, made fit for messages, terminals and XML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// The bytes of the UTF-8 character in front of `text`; 0 when there is none: no text, a byte out of
// place, an overlong form, a surrogate.
std::size_t character_length(std::string_view text);

// At most `bytes` of `text`, without a character that is cut in two.
std::string_view clipped(std::string_view text, std::size_t bytes);

// `text` with a '?' for each control character, each byte that is not UTF-8 and U+FFFE and U+FFFF,
// which no XML may hold.
std::string printable(std::string_view text);

}  // namespace penstock
