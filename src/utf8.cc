#include "utf8.h"

#include <algorithm>

namespace penstock {
namespace {

unsigned char byte(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool continues(std::string_view text, std::size_t i) {
  return (byte(text, i) & 0xC0) == 0x80;
}

// By the first byte; 0 for one that begins no character.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// Whether the second byte is in the range that the first leaves it (Unicode, table 3-7).
bool second_fits(unsigned char first, unsigned char second) {
  if (first == 0xE0) return second >= 0xA0;
  if (first == 0xED) return second < 0xA0;
  if (first == 0xF0) return second >= 0x90;
  return first != 0xF4 || second < 0x90;
}

}  // namespace

std::size_t character_length(std::string_view text) {
  const std::size_t length = text.empty() ? 0 : announced_length(byte(text, 0));
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text, i)) return 0;
  }
  return length < 2 || second_fits(byte(text, 0), byte(text, 1)) ? length : 0;
}

std::string_view clipped(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  constexpr std::size_t kLongest = 4;
  std::size_t end = bytes;
  while (end > 0 && bytes - end < kLongest && continues(text, end)) --end;
  // Bytes that are no UTF-8 are cut anywhere.
  const bool splits = end < bytes && end + character_length(text.substr(end)) > bytes;
  return text.substr(0, splits ? end : bytes);
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool is_control = length == 1 && (byte(text, 0) < ' ' || character == "\x7f");
    const bool is_no_xml = character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
    if (length == 0 || is_control || is_no_xml) {
      result += '?';
    } else {
      result += character;
    }
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace penstock
