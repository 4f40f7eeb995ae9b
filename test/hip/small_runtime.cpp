// A HIP runtime that has a few functions, and none for graphs.
#include <cstdlib>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int hipInit(unsigned /*flags*/) {
  return 0;
}
EXPORTED int hipRuntimeGetVersion(int* version) {
  constexpr int kVersion = 50731921;
  *version = kVersion;
  return 0;
}
EXPORTED int hipGetLastError() {
  return 0;
}
EXPORTED int hipMalloc(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return 0;
}
EXPORTED int hipStreamCreate(void** stream) {
  static int one;
  *stream = &one;
  return 0;
}
EXPORTED int hipMemsetAsync(void* memory, int value, std::size_t bytes, void* /*stream*/) {
  std::memset(memory, value, bytes);
  return 0;
}
EXPORTED int hipStreamSynchronize(void* /*stream*/) {
  return 0;
}
