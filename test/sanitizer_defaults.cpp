// What the sanitizer builds are to ignore: errors inside the OpenCL driver, which plain programs show as well
// (PoCL 3.1 leaks when a program ends without releasing everything, and reads past a program's hash). Compiled
// into every program of ours, so that the tests' child processes know it too.
extern "C" {

const char* __lsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libhwloc\n";
}

const char* __asan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
const char* __asan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "interceptor_via_lib:libpocl\n";
}

const char* __tsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "called_from_lib:libpocl\nrace:libpocl\n";
}
}
