// The stubs of host_stubs.h.
#include "layer/interpose/host_stub_count.h"

#if defined(__x86_64__)
#include "layer/interpose/host_stubs_x86_64.inc"
#elif defined(__aarch64__)
#include "layer/interpose/host_stubs_aarch64.inc"
#else
#error "Refrain's stubs are written for x86-64 and aarch64."
#endif
