// File: clones.h. How the element-wise kernels are compiled.
//
// A kernel is written once as an inline template on the scalar and instantiated by two plain
// functions, float (training) and double (gradient checks). The float one is compiled for several
// instruction sets and the machine picks one at load time: results are the same bits on every run
// on one machine, not between machines that pick differently.
#pragma once

// Sanitizers run the resolvers of cloned functions before they have set themselves up.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PENSTOCK_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PENSTOCK_CLONES
#endif

// What a kernel is made of must become part of it, or it would be compiled for the oldest machine.
#define PENSTOCK_INLINE inline __attribute__((always_inline))
#define PENSTOCK_LAMBDA __attribute__((always_inline))
