#include "penstock/files.h"
#include "penstock/formats.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {

int run_generate(const Arguments& arguments) {
  const Format to = target_format(arguments).value_or(Format::Json);
  const Schedule schedule = generate(arguments.positional()[0], generate_options(arguments));
  write_file(arguments.text_or("output", "-"), write_schedule(schedule, to));
  return 0;
}

}  // namespace penstock
