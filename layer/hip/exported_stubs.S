// What the starter exports (layer/starter): one stub per line of the entry point list. The index of a stub is its
// place there.

#define STUB(name) refrain_starter_##name
#define STUB_GUARDED
#include "layer/interpose/exported_stubs.inc"

#define ENTRY(f, version) guarded_stub f
#define NEUTRAL(f, version) jump_stub f
#define HOST(f, version) host_stub f
#include "layer/hip/entry_points.def"

        finish_stubs
