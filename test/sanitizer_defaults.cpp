// What the sanitizer builds are to ignore: errors inside the OpenCL driver, which plain programs show as well
// (PoCL 3.1 leaks when a program ends without releasing everything, and reads past a program's hash). Compiled
// into every program of ours, so that the tests' child processes know it too. The sanitizers' libraries look
// these functions up, so they must be visible.
#define REFRAIN_VISIBLE __attribute__((visibility("default")))

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
REFRAIN_VISIBLE const char* __lsan_default_suppressions();
REFRAIN_VISIBLE const char* __asan_default_options();
REFRAIN_VISIBLE const char* __asan_default_suppressions();
REFRAIN_VISIBLE const char* __tsan_default_options();
REFRAIN_VISIBLE const char* __tsan_default_suppressions();

const char* __lsan_default_suppressions() {
  // Loggers are never destroyed: messages are written until the very end.
  return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libhwloc\nleak:refrain::env::open_log\n";
}
// `refrain run` preloads libraries of ours, which come before the sanitizer's then. And where a driver with
// thread-local variables is loaded, libasan 12 takes two words in front of them for where they begin, which is so with
// older glibcs only: the leak check may then end in a segmentation fault ("Tracer caught signal 11"), in plain programs
// of Level Zero.
const char* __asan_default_options() {
  return "verify_asan_link_order=0:intercept_tls_get_addr=0";
}
const char* __asan_default_suppressions() {
  return "interceptor_via_lib:libpocl\n";
}
// A test that never ends is watched by a thread, so that each process that forks has several; and what is forked starts
// threads of its own.
const char* __tsan_default_options() {
  return "die_after_fork=0";
}
const char* __tsan_default_suppressions() {
  return "race:libpocl\n";
}
}
// NOLINTEND(bugprone-reserved-identifier)
