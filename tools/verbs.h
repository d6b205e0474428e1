// File: verbs.h. The table of verbs. Adding one: a file in verbs/, a line in verbs.cc.
#pragma once

#include <span>

#include "command_line.h"

namespace penstock {

std::span<const Verb> verbs();

int run_list(const Arguments& arguments);
int run_generate(const Arguments& arguments);
int run_check(const Arguments& arguments);
int run_convert(const Arguments& arguments);
int run_draw(const Arguments& arguments);
int run_simulate(const Arguments& arguments);
int run_profile(const Arguments& arguments);
int run_train(const Arguments& arguments);
int run_report(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_version(const Arguments& arguments);

}  // namespace penstock
