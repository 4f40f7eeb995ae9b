// A library as a layer is linked, for own_bindings_test.cpp.
#include <stdlib.h>
#include <sys/socket.h>

#include "layer/own_bindings.h"

namespace {

/// Relocated on its own, beside what calls use.
int (*const kByAddress[])(int, int) = {&listen, &shutdown};

}  // namespace

extern "C" {
[[gnu::visibility("default")]] int call_shutdown() {
  return shutdown(-1, 0);
}
[[gnu::visibility("default")]] int call_listen_by_address() {
  return kByAddress[0](-1, 0);
}
[[gnu::visibility("default")]] int call_accept4() {
  return accept4(-1, nullptr, nullptr, 0);
}
[[gnu::visibility("default")]] int call_socketpair() {
  return socketpair(-1, 0, 0, nullptr);
}
[[gnu::visibility("default")]] int call_setenv() {
  return setenv("NOTHING", "", 1);
}
[[gnu::visibility("default")]] void bind_again() {
  refrain_own_bindings();
}
}
