// Linked with libcuda.so.1, and with a C++ library of its own: says what the driver said, and throws once.
#include <cstdio>
#include <stdexcept>

extern "C" int cuInit(unsigned flags);
extern "C" int cuDriverGetVersion(int* version);

int main() {
  int version = 0;
  try {
    if (cuInit(0) != 0 || cuDriverGetVersion(&version) != 0) {
      throw std::runtime_error("the driver refuses");
    }
    throw version;
  } catch (int found) {
    std::printf("driver %d\n", found);
  }
  return 0;
}
