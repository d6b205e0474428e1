// File: mpi_process.h. This process as one of those that mpirun started.
#pragma once

#include <functional>

#include "penstock/execute.h"
#include "transport/transport.h"

namespace penstock {

bool launched_by_mpirun();

// Starts MPI and ends it. While a run is under way and mpirun ends this process because another one
// died, the first survivor prints what every actor was doing.
class MpiProcess {
 public:
  MpiProcess();
  // Processes that wait in run() for this one learn that it will not come.
  ~MpiProcess();
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int processes_here() const { return processes_here_; }

  // Collective. Throws Error when another process ended before it came here.
  RunResult run(const std::function<RunResult(Transport&)>& actor);

 private:
  int rank_ = 0;
  int size_ = 1;
  int processes_here_ = 1;
  bool has_run_ = false;
};

}  // namespace penstock
