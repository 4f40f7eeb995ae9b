// A program of the shared runtime that asks often which device is its own. Prints what it is told.
//
// Usage: device_program QUESTIONS
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

void ask(const char* when) {
  int device = -7;
  const cudaError_t status = cudaGetDevice(&device);
  std::printf("%s: %s %d\n", when, cudaGetErrorName(status), device);
}

/// Only what differs from the first answer is printed.
void ask_often(const char* who, int questions) {
  ask(who);
  for (int question = 1; question < questions; ++question) {
    int device = -7;
    if (cudaGetDevice(&device) != cudaSuccess || device != 0) {
      std::printf("%s: question %d: %d\n", who, question, device);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const int questions = count > 1 ? static_cast<int>(std::strtol(words[1], nullptr, 10)) : 1;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // Asked without a version, as by those who want to know whether there is a runtime: it is the runtime's own.
  Dl_info place{};
  void* found = dlsym(RTLD_DEFAULT, "cudaGetDevice");
  std::printf("of the library: %d\n",
              static_cast<int>(found != nullptr && dladdr(found, &place) != 0 &&
                               std::string_view(place.dli_fname).find("cudart") != std::string_view::npos));
  ask_often("main", questions);
  std::thread([questions] { ask_often("thread", questions); }).join();
  std::printf("nowhere: %s\n", cudaGetErrorName(cudaGetDevice(nullptr)));
  std::printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("a context: %s\n", cudaGetErrorName(cudaFree(nullptr)));
  ask_often("with a context", questions);
  std::printf("another: %s\n", cudaGetErrorName(cudaSetDevice(1)));
  ask("after another");
  ask("after another");
  std::printf("own: %s\n", cudaGetErrorName(cudaSetDevice(0)));
  ask("after own");
  if (fork() == 0) {
    ask("child");
    std::fflush(stdout);
    _exit(0);
  }
  wait(nullptr);
  ask("parent");
  std::atexit([] { ask("at exit"); });
  return 0;
}
