// Cluster files.
#include "fuzzing.h"
#include "penstock/cluster.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return penstock::fuzz(data, size, [](std::string_view text) {
    const penstock::Cluster cluster = penstock::read_cluster(text, "fuzz");
    const penstock::Path path = penstock::path(cluster, 0, cluster.devices() - 1);
    penstock::require(path.hops.empty() == (cluster.devices() == 1));
  });
}
