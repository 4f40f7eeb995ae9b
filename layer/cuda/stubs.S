// Stubs for functions that nobody knew when this was built: as many as kAnonymousStubs in stubs.h. Those of known
// functions belong to what is preloaded (exported_stubs.S).

#define STUB_COUNT 4096
#define STUB_NAME(x) refrain_cuda_anonymous_##x
#include "layer/host_stubs.inc"
