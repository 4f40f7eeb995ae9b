// See stubs.h. x86-64, System V calling convention. One exported function per line of the entry point lists,
// then the anonymous ones. The index of a stub is its place in refrain_cuda_stub_addresses.

#if !defined(__x86_64__)
#error "The CUDA layer has stubs for x86-64 only."
#endif

#define STUB(name) refrain_cuda_##name
#include "layer/exported_stubs.inc"

#define SUBMIT(f) jump_stub f
#define TRACKED(f) jump_stub f
#define TYPED(f) jump_stub f
#define SETTER(f) jump_stub f
#define RESOLVE(f) jump_stub f
#define NEUTRAL(f) jump_stub f
#define HOST(f) host_stub f
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"

// As many as kAnonymousStubs in stubs.h.
        finish_stubs 4096
