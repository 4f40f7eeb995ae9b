// Every function of the driver, so that look-ups find what a real driver has. Weak: the other files replace
// those that do something. Written without cuda.h, whose declarations have arguments.

namespace sim {
void log(const char* text) noexcept;
}

#define DEFAULT(f)                                                 \
  extern "C" __attribute__((weak, visibility("default"))) int f(); \
  int f() {                                                        \
    sim::log(#f);                                                  \
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */                     \
  }
#define NEUTRAL(f) DEFAULT(f)
#define HOST(f) DEFAULT(f)
#define SUBMIT(f) DEFAULT(f)
#define TYPED(f) DEFAULT(f)
#define SETTER(f) DEFAULT(f)
#define TRACKED(f) DEFAULT(f)
#define RESOLVE(f) DEFAULT(f)
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"

// A function that came after Refrain was built.
extern "C" __attribute__((visibility("default"))) int cuFutureWork(int* value);
int cuFutureWork(int* value) {
  sim::log("cuFutureWork");
  *value += 1;
  return 0;
}
