// File: option.h. What --option values and sizes say to a generator whose rule is particular.
//
// What is wrong goes into `problems`, so that a caller can report everything at once; what is
// returned then is the default.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.h"
#include "penstock/generate.h"

namespace penstock {

// The value given for `key`, which must be one of `words`; the first of them when none is given.
std::string_view word_option(const GenerateOptions& options, const std::string& key,
                             std::span<const std::string_view> words,
                             std::vector<Problem>& problems);

// The value given for `key`, a whole number of at least 1; `otherwise` when none is given.
std::int32_t number_option(const GenerateOptions& options, const std::string& key,
                           std::int32_t otherwise, std::vector<Problem>& problems);

// "120,120,64" (or a JSON array of the same, as an experiment has it) given for `key`: numbers of
// at least 1; none when it is not given.
std::vector<std::int32_t> numbers_option(const GenerateOptions& options, const std::string& key,
                                         std::vector<Problem>& problems);

// The value given for `key`, a finite number of at least 0; `otherwise` when none is given.
double decimal_option(const GenerateOptions& options, const std::string& key, double otherwise,
                      std::vector<Problem>& problems);

// The value given for `key`, 0 or 1; `otherwise` when none is given.
bool switch_option(const GenerateOptions& options, const std::string& key, bool otherwise,
                   std::vector<Problem>& problems);

// For schedules that fix what an actor holds: chunks may be left at 1, or be one of `allowed`.
void check_chunks(const char* name, const GenerateOptions& options,
                  std::initializer_list<std::int32_t> allowed, std::vector<Problem>& problems);

// The multiples of `step` next to `size` from `least` (a multiple) on: "8 or 12", "8".
std::string multiples_near(std::int32_t size, std::int32_t step, std::int32_t least);

// Throws Error with `problems` if there are any.
void throw_if_any(std::vector<Problem> problems);

}  // namespace penstock
