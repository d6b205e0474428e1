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

}  // namespace

int run_generate(const Arguments& arguments) {
  const Format to = target_format(arguments).value_or(Format::Json);
  const std::string& name = arguments.positional()[0];
  if (name != kSearched) refuse_costs(arguments, name);
  const NamedSchedule named = named_schedule(name, generate_options(arguments), arguments);
  write_file(arguments.text_or("output", "-"), write_schedule(named.schedule, to));
  if (named.search) complain(verdict(name, *named.search));
  return 0;
}

}  // namespace penstock
