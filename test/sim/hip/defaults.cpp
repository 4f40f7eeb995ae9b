// Every function of the library, so that programs and look-ups find what a real one has. Weak: the other files replace
// those that do something. Written without HIP's header, whose declarations have arguments.

namespace sim {
void log(const char* text) noexcept;
}

#define DEFAULT(f)                                                 \
  extern "C" __attribute__((weak, visibility("default"))) int f(); \
  int f() {                                                        \
    sim::log(#f);                                                  \
    return 801; /* hipErrorNotSupported */                         \
  }
#define NEUTRAL(f, version) DEFAULT(f)
#define HOST(f, version) DEFAULT(f)
#define SUBMIT(f, version) DEFAULT(f)
#define TYPED(f, version) DEFAULT(f)
#define SETTER(f, version) DEFAULT(f)
#define TRACKED(f, version) DEFAULT(f)
#define RESOLVE(f, version) DEFAULT(f)
#include "layer/hip/entry_points.def"
