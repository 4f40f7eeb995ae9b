// A program that is linked with libamdhip64.so.5. Says who answers.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

namespace {

void where(const char* what, void* address) {
  Dl_info info{};
  const bool found = dladdr(address, &info) != 0 && info.dli_fname != nullptr;
  std::printf("%s in %s\n", what,
              !found                                                 ? "?"
              : std::strstr(info.dli_fname, "librefrain") != nullptr ? "shim"
                                                                     : "library");
}

int work() {
  void* memory = nullptr;
  hipStream_t stream = nullptr;
  if (hipMalloc(&memory, 64) != hipSuccess || hipStreamCreate(&stream) != hipSuccess ||
      hipMemsetAsync(memory, 7, 64, stream) != hipSuccess || hipStreamSynchronize(stream) != hipSuccess) {
    return 1;
  }
  std::printf("work good\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool errors = argc > 1 && std::strcmp(argv[1], "errors") == 0;
  where("hipDeviceSynchronize", reinterpret_cast<void*>(&hipDeviceSynchronize));
  if (errors) {
    int count = 7;
    const hipError_t status = hipGetDeviceCount(&count);
    std::printf("%d %s %d %d\n", static_cast<int>(status), hipGetErrorName(status), count,
                static_cast<int>(hipDeviceSynchronize()));
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "deepbind") == 0) {
    void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    where("dlsym", library == nullptr ? nullptr : dlsym(library, "hipDeviceSynchronize"));
  }
  if (work() != 0) {
    return 1;
  }
  if (argc > 1 && std::strcmp(argv[1], "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      void* memory = nullptr;
      std::printf("hipMalloc %d\n", static_cast<int>(hipMalloc(&memory, 64)));
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WEXITSTATUS(status));
    return work();
  }
  return 0;
}
