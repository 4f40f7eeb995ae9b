// What the starter exports (layer/starter): one stub per line of the entry point list. The index of a stub is its
// place there.

#if !defined(__x86_64__)
#error "The HIP layer has stubs for x86-64 only."
#endif

#define STUB(name) refrain_starter_##name
#define STUB_GUARDED
#include "layer/exported_stubs.inc"

#define SUBMIT(f, version) guarded_stub f
#define TRACKED(f, version) guarded_stub f
#define TYPED(f, version) guarded_stub f
#define SETTER(f, version) guarded_stub f
#define RESOLVE(f, version) guarded_stub f
#define NEUTRAL(f, version) jump_stub f
#define HOST(f, version) host_stub f
#include "layer/hip/entry_points.def"

        finish_stubs
