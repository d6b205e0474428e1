#include "mpi_process.h"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "obituary.h"
#include "transport/mpi_session.h"

namespace penstock {

bool launched_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

MpiProcess::MpiProcess() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &processes_here_);
  MPI_Comm_free(&here);
}

MpiProcess::~MpiProcess() {
  if (!has_run_) {
    const char comes = 0;
    std::vector<char> all(static_cast<std::size_t>(size_));
    MPI_Allgather(&comes, 1, MPI_CHAR, all.data(), 1, MPI_CHAR, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}

RunResult MpiProcess::run(const std::function<RunResult(Transport&)>& actor) {
  has_run_ = true;
  const char comes = 1;
  std::vector<char> all(static_cast<std::size_t>(size_));
  MPI_Allgather(&comes, 1, MPI_CHAR, all.data(), 1, MPI_CHAR, MPI_COMM_WORLD);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] == 0) throw Error("", fmt::format("process {} ended before the first step", r));
  }
  MpiSession session;
  const Obituary obituary(session.board(), session.names());
  const std::unique_ptr<Transport> transport = choose_transport(session);
  return actor(*transport);
}

}  // namespace penstock
