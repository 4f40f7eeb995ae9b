// See stubs.h.

#define STUB_COUNT 1280
#define STUB_NAME(name) refrain_stub_##name
#include "layer/host_stubs.inc"
