// Every function of the driver, so that look-ups find what a real driver has. Weak: the other files replace
// those that do something. Written without cuda.h, whose declarations have arguments.

namespace sim {
void log(const char* text) noexcept;
}

#define ENTRY(f)                                                   \
  extern "C" __attribute__((weak, visibility("default"))) int f(); \
  int f() {                                                        \
    sim::log(#f);                                                  \
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */                     \
  }
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"
#undef ENTRY

// A function that came after Refrain was built.
extern "C" __attribute__((visibility("default"))) int cuFutureWork(int* value);
int cuFutureWork(int* value) {
  sim::log("cuFutureWork");
  *value += 1;
  return 0;
}
