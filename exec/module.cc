// The shared module's one entry. Everything process-wide is here: MPI, signals.
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "machine.h"
#include "run.h"
#include "transport/in_process.h"

#ifdef PENSTOCK_MPI
#include "mpi_process.h"
#endif

namespace penstock {
namespace {

// As a shell takes it: quoted when it holds more than letters, digits and harmless signs.
std::string quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// The command line that started this process, as one would type it.
std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    text += (text.empty() ? "" : " ") + quoted(word);
  }
  return text;
}

void require_processes(const RunPlan& plan, int size) {
  const std::int32_t actors = plan.program.schedule.pipeline.actors;
  if (size == actors) return;
  throw Error(plan.program.schedule.name,
              fmt::format("the schedule has {} actors, this run {} {}", actors, size,
                          size == 1 ? "process" : "processes"),
              fmt::format("mpirun -n {} {}", actors, own_command()));
}

// One process, started by hand.
class LoneExecutor final : public Executor {
 public:
  int rank() const override { return 0; }
  int processes_here() const override { return 1; }
  RunResult run(const RunPlan& plan, const RunOptions& options) override {
    require_processes(plan, 1);
    RunResult result;
    with_actors(1, [&](Transport& t) { result = run_actor(plan, options, make_device, t); });
    return result;
  }
  std::vector<std::string> versions() const override { return library_versions(); }
};

#ifdef PENSTOCK_MPI
class MpiExecutor final : public Executor {
 public:
  int rank() const override { return process_.rank(); }
  int processes_here() const override { return process_.processes_here(); }
  RunResult run(const RunPlan& plan, const RunOptions& options) override {
    require_processes(plan, process_.size());
    return process_.run([&](Transport& t) { return run_actor(plan, options, make_device, t); });
  }
  std::vector<std::string> versions() const override { return library_versions(); }

 private:
  MpiProcess process_;
};
#endif

std::unique_ptr<Executor> make_executor() {
#ifdef PENSTOCK_MPI
  if (launched_by_mpirun()) return std::make_unique<MpiExecutor>();
#endif
  return std::make_unique<LoneExecutor>();
}

}  // namespace
}  // namespace penstock

// Lives until the program exits: MPI ends with it.
extern "C" penstock::Executor* penstock_executor() {
  static const std::unique_ptr<penstock::Executor> executor = penstock::make_executor();
  return executor.get();
}
