#include "machine.h"

#include <fstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#ifdef PENSTOCK_MPI
#include <mpi.h>
#endif

#include "model/gemm.h"

namespace penstock {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

}  // namespace

std::string machine_json(const RunPlan& plan) {
  const bool sleeps = !plan.model || plan.train.device == DeviceKind::Sleep;
  const std::string cores = std::to_string(std::thread::hardware_concurrency());
  if (sleeps) return R"({"device": "sleep", "cores": )" + cores + "}";
  return R"({"device": "cpu", "processor": )" + quoted(processor()) + R"(, "cores": )" + cores +
         R"(, "blas": )" + quoted(blas_version()) + R"(, "blas_core": )" + quoted(blas_core()) +
         "}";
}

std::vector<std::string> library_versions() {
  std::vector<std::string> versions;
#ifdef PENSTOCK_MPI
  versions.push_back(fmt::format("Open MPI {}.{}.{}", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                 OMPI_RELEASE_VERSION));
#else
  versions.emplace_back("MPI none");
#endif
  versions.push_back(blas_version() + " " + blas_core());
  versions.emplace_back("CUDA none, NCCL none, cuDNN none (this version runs on CPUs)");
  return versions;
}

}  // namespace penstock
