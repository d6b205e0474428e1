#include "console.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

#include "penstock/execute.h"

namespace penstock {
namespace {

// mpirun ends all processes soon after the first one failed, which must not be before rank 0 has
// spoken.
constexpr std::chrono::seconds kGrace(3);

}  // namespace

void say(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    std::exit(0);  // a closed pipe is the reader's choice, not a failure
  }
}

void complain(std::string_view text) {
  if (launched_rank() != 0) {
    if (executor_is_loaded()) return;  // MPI sees to it that rank 0 fails, too
    std::this_thread::sleep_for(kGrace);
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stderr);
}

bool color_output() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  return (no_color == nullptr || *no_color == '\0') && !dumb && ::isatty(STDOUT_FILENO) == 1;
}

void progress(std::string_view line, bool last) {
  const bool live = ::isatty(STDERR_FILENO) == 1;
  if (live) std::fputs("\r\033[K", stderr);
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (!live || last) std::fputc('\n', stderr);
  std::fflush(stderr);
}

int launched_rank() {
  // Open MPI, then PMI (MPICH, Slurm).
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  }
  return 0;
}

}  // namespace penstock
