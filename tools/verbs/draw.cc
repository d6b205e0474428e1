#include "penstock/draw.h"

#include "console.h"
#include "penstock/files.h"
#include "penstock/program.h"
#include "penstock/simulate.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {

int run_draw(const Arguments& arguments) {
  Schedule schedule = schedule_from(arguments.positional()[0], arguments);
  const CostTable costs = costs_from(arguments, schedule).value_or(unit_costs(schedule));
  const Timeline timeline = simulate(lower(std::move(schedule)), costs);
  if (arguments.has("svg")) {
    write_file(arguments.text("svg"), draw_svg(timeline));
    return 0;
  }
  const int columns = arguments.integer_or("columns", 80);
  if (columns < 40 || columns > 10000) throw UsageError("--columns takes 40 to 10000");
  say(draw(timeline, {.columns = columns, .color = color_output()}));
  return 0;
}

}  // namespace penstock
