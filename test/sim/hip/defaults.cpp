// Every function of the library, so that programs and look-ups find what a real one has. Weak: the other files replace
// those that do something. Written without HIP's header, whose declarations have arguments.

namespace sim {
void log(const char* text) noexcept;
}

#define ENTRY(f, version)                                          \
  extern "C" __attribute__((weak, visibility("default"))) int f(); \
  int f() {                                                        \
    sim::log(#f);                                                  \
    return 801; /* hipErrorNotSupported */                         \
  }
#include "layer/hip/entry_points.def"
#undef ENTRY
