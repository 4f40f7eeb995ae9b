// A driver, by what it exports, that handles signals as the compiler below some does.
#define EXPORTED __attribute__((visibility("default")))

extern "C" {
EXPORTED int driver_handled = 0;
EXPORTED void driver_handler(int /*number*/) noexcept {
  ++driver_handled;
}
EXPORTED int clIcdGetPlatformIDsKHR() noexcept {
  return 0;
}
}
