// Calls its driver once, and prints what it sees of the process that it is then.
#include <sys/auxv.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#ifdef USES_OPENCL
#include <CL/cl.h>
namespace {
int call() {
  cl_uint platforms = 0;
  return clGetPlatformIDs(0, nullptr, &platforms);
}
}  // namespace
#else
extern "C" int cuInit(unsigned flags);
namespace {
int call() {
  return cuInit(0);
}
}  // namespace
#endif

int main() {
  std::printf("answer %d\n", call());
  std::printf("secure %lu\n", getauxval(AT_SECURE));
  const std::filesystem::directory_iterator threads("/proc/self/task");
  std::printf("threads %ld\n", static_cast<long>(std::distance(begin(threads), end(threads))));
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (const auto slash = line.find('/'); slash != std::string::npos) {
      libraries.insert(line.substr(slash));
    }
  }
  for (const std::string& library : libraries) {
    std::printf("mapped %s\n", library.c_str());
  }
  for (const char* name : {"OPENCL_LAYERS", "REFRAIN_OPENCL_LAYERS"}) {
    const char* const value = std::getenv(name);
    std::printf("%s %s\n", name, value == nullptr ? "unset" : value);
  }
  return 0;
}
