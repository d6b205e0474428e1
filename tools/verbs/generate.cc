#include <fmt/format.h>

#include "penstock/files.h"
#include "penstock/formats.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {

int run_generate(const Arguments& arguments) {
  const std::string to = arguments.text_or("to", "json");
  const auto format = parse_format(to);
  if (!format) throw UsageError(fmt::format("--to does not know '{}'", to));
  const Schedule schedule = generate(arguments.positional()[0], generate_options(arguments));
  write_file(arguments.text_or("output", "-"), write_schedule(schedule, *format));
  return 0;
}

}  // namespace penstock
