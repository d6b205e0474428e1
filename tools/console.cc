#include "console.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>

#include "penstock/error.h"
#include "penstock/execute.h"

namespace penstock {
namespace {

// mpirun ends all processes soon after the first one failed, which must not be before rank 0 has
// spoken.
constexpr std::chrono::seconds kGrace(3);

bool progress_is_open = false;  // a line of progress stands there without its newline

void end_progress() {
  if (progress_is_open) std::fputc('\n', stderr);
  progress_is_open = false;
}

}  // namespace

void say(std::string_view text) {
  end_progress();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    if (errno == EPIPE) std::exit(0);  // the reader's choice, not a failure
    throw RunError("standard output", std::string("cannot be written: ") + std::strerror(errno));
  }
}

void complain(std::string_view text) {
  if (launched_rank() != 0) {
    if (executor_is_loaded()) return;  // MPI sees to it that rank 0 fails, too
    std::this_thread::sleep_for(kGrace);
  }
  end_progress();
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stderr);
}

bool color_output() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  return (no_color == nullptr || *no_color == '\0') && !dumb && ::isatty(STDOUT_FILENO) == 1;
}

void progress(std::string_view line) {
  const bool live = ::isatty(STDERR_FILENO) == 1;
  if (live) std::fputs("\r\033[K", stderr);
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (!live) std::fputc('\n', stderr);
  std::fflush(stderr);
  progress_is_open = live;
}

int launched_rank() {
  // Open MPI, then PMI (MPICH, Slurm).
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  }
  return 0;
}

}  // namespace penstock
