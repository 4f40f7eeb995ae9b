// A library linked with the driver, that programs open with RTLD_DEEPBIND.
#include "test/cuda/work.h"

extern "C" __attribute__((visibility("default"))) int plugin_work();
int plugin_work() {
  return do_work({&cuInit, &cuDevicePrimaryCtxRetain, &cuCtxSetCurrent, &cuMemAlloc_v2, &cuMemsetD8Async,
                  &cuMemcpyDtoH_v2, &cuCtxSynchronize, &cuMemFree_v2});
}
