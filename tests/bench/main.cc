#include <benchmark/benchmark.h>

#include "penstock/allocation.h"

int main(int argc, char** argv) {
  penstock::keep_freed_memory();  // as the program does
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
