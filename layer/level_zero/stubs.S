// See stubs.h. As many as kStubs there.

#define STUB_COUNT 1024
#define STUB_NAME(name) refrain_level_zero_##name
#include "layer/host_stubs.inc"
