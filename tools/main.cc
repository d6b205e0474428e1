// Reads the verb, runs it, turns every failure into a message and an exit code. What is thrown
// and not handled ends here.

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "console.h"
#include "penstock/allocation.h"
#include "penstock/error.h"
#include "penstock/nearest.h"
#include "verbs.h"

namespace penstock {
namespace {

enum ExitCode : int { kSuccess = 0, kInputAtFault = 1, kWrongUsage = 2, kRunFailed = 3 };

std::string general_help() {
  std::string text =
      "penstock: pipeline schedules for training large models, simulated and executed\n\n"
      "usage: penstock VERB [arguments]\n\n";
  for (const Verb& verb : verbs()) text += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
  text +=
      "\n`penstock VERB --help` tells a verb's options.\n"
      "exit codes: 0 success, 1 the input is at fault, 2 wrong usage,\n"
      "            3 a failure while running, 130 interrupted (under mpirun: mpirun's\n"
      "            own code)\n";
  return text;
}

const Verb* find_verb(std::string_view name) {
  const auto all = verbs();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Verb& v) { return v.name == name; });
  return found == all.end() ? nullptr : &*found;
}

int unknown_verb(const std::string& word) {
  complain(fmt::format("unknown verb '{}'; {}", word, did_you_mean(word, verbs(), &Verb::name)));
  return kWrongUsage;
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    complain(general_help());
    return kWrongUsage;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (words.size() == 2 && words[0] == "help") return dispatch({words[1], "--help"});
    say(general_help());
    return kSuccess;
  }
  const Verb* verb = find_verb(words[0] == "--version" ? "version" : words[0]);
  if (verb == nullptr) return unknown_verb(words[0]);
  const std::span rest(words.begin() + 1, words.end());
  if (std::find_if(rest.begin(), rest.end(),
                   [](const std::string& w) { return w == "--help" || w == "-h"; }) != rest.end()) {
    say(verb_help(*verb));
    return kSuccess;
  }
  try {
    return verb->run(CommandLine::parse(*verb, rest));
  } catch (const UsageError& error) {
    complain(fmt::format("penstock {}: {}\n{}", verb->name, error.what(), usage_line(*verb)));
    return kWrongUsage;
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  using namespace std::string_literals;
  penstock::keep_freed_memory();
  try {
    return penstock::dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const penstock::RunError& error) {
    penstock::complain(error.what());
    return penstock::kRunFailed;
  } catch (const penstock::Error& error) {
    penstock::complain(error.what());
    return penstock::kInputAtFault;
  } catch (const std::bad_alloc&) {
    penstock::complain("not enough memory for an input of this size");
    return penstock::kRunFailed;
  } catch (const std::exception& error) {
    penstock::complain("internal error: "s + error.what() + "\n  hint: this is a bug in penstock");
    return penstock::kRunFailed;
  }
}
