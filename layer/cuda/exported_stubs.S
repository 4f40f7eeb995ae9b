// What the starter exports (layer/starter): one stub per line of the entry point lists. The index of a stub is its
// place there.

#define STUB(name) refrain_starter_##name
#include "layer/interpose/exported_stubs.inc"

#define ENTRY(f) jump_stub f
#define HOST(f) host_stub f
#include "layer/cuda/entry_points.def"
#define HOST(f) host_stub f
#include "layer/cuda/extra_entry_points.def"

// The names of the runtime are hidden versions ("@", not "@@"): only a program that was linked with libcudart finds the
// functions, and nobody who looks for a cudaGetDevice of whatever origin to see whether there is a runtime.
        .macro  runtime_stub stub, version, function
        .symver refrain_\stub, \function\()@libcudart.so.\version
        jump_stub refrain_\stub
        .endm
#define ANSWERED(stub, version, function) runtime_stub stub, version, function
#include "layer/cuda/runtime_stubs.def"

        finish_stubs
