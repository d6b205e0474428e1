#include <fmt/format.h>

#include "console.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "schedule_input.h"
#include "search_input.h"
#include "verbs.h"

namespace penstock {
namespace {

void refuse_costs(const Arguments& arguments, const std::string& name) {
  for (const char* option : {"costs", "costs-file", "per-actor"}) {
    if (!arguments.has(option)) continue;
    throw UsageError(fmt::format("--{}: {} is the same for all costs", option, name));
  }
}

// Unit costs are good enough to draw or simulate a generator's schedule, not to write one for use.
NamedSchedule made(const std::string& name, const Arguments& arguments) {
  refuse_unknown(name);
  const GenerateOptions options = generate_options(arguments);
  if (!is_made_for_costs(name)) refuse_costs(arguments, name);
  const bool priced = arguments.has("costs") || arguments.has("costs-file");
  if (name != kSearched && !priced) return {generate(name, options), std::nullopt};
  return named_schedule(name, options, arguments);
}

}  // namespace

int run_generate(const Arguments& arguments) {
  const Format to = target_format(arguments).value_or(Format::Json);
  const std::string& name = arguments.positional()[0];
  const NamedSchedule named = made(name, arguments);
  write_file(arguments.text_or("output", "-"), write_schedule(named.schedule, to));
  if (named.search) complain(verdict(name, *named.search));
  return 0;
}

}  // namespace penstock
