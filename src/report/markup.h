// File: markup.h. Text inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// `text` with <, >, & and " as entities: for elements and attributes alike.
// REQUIRES, for XML: UTF-8 without control characters but '\n' (printable(), utf8.h).
std::string escaped(std::string_view text);

}  // namespace penstock
