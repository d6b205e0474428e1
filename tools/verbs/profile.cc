#include <filesystem>

#include "console.h"
#include "penstock/execute.h"
#include "penstock/files.h"
#include "predict.h"
#include "run_plan.h"
#include "verbs.h"

namespace penstock {

int run_profile(const Arguments& arguments) {
  const std::int32_t steps = arguments.integer_or("steps", 5);
  if (steps < 1 || steps > 100000) throw UsageError("--steps takes 1 to 100000");
  const Prepared prepared =
      prepare(read_executable(arguments.positional()[0], arguments.list("set")));
  const auto costs = given_costs(prepared);
  if (arguments.text_or("output", "-") != "-") {  // known before the measuring, not after it
    const auto folder = std::filesystem::path(arguments.text("output")).parent_path();
    ensure_writable_folder(folder.empty() ? "." : folder.string());
  }
  RunPlan plan = make_run_plan(prepared, costs);
  plan.train.steps = 0;
  Executor& executor = load_executor();
  if (const std::string note = shared_cores_note(executor, plan); !note.empty()) complain(note);
  const RunResult result = executor.run(plan, {.profile_steps = steps});
  if (!result.root) return 0;
  write_file(arguments.text_or("output", "-"), write_costs(result.profile));
  return 0;
}

}  // namespace penstock
