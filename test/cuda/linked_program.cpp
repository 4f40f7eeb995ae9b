// Linked with the driver. Usage: linked_program [threads | errors | errno | fork | exec COMMAND... | lookup]
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "test/cuda/work.h"

namespace {

int linked_work() {
  return do_work({&cuInit, &cuDevicePrimaryCtxRetain, &cuCtxSetCurrent, &cuMemAlloc_v2, &cuMemsetD8Async,
                  &cuMemcpyDtoH_v2, &cuCtxSynchronize, &cuMemFree_v2});
}

void look_up(const char* name, int version, cuuint64_t flags) {
  void* found = nullptr;
  const CUresult status = cuGetProcAddress_v2(name, &found, version, flags, nullptr);
  Dl_info info{};
  const bool named = found != nullptr && dladdr(found, &info) != 0 && info.dli_sname != nullptr;
  std::printf("%s %d: %d %s %s\n", name, static_cast<int>(flags), static_cast<int>(status), place_of(found),
              named ? info.dli_sname : "-");
}

}  // namespace

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const char* what = count > 1 ? words[1] : "";
  if (std::strcmp(what, "threads") == 0) {
    std::thread threads[8];
    CUresult results[8] = {};
    for (int index = 0; index < 8; ++index) {
      threads[index] = std::thread([index, &results] { results[index] = cuInit(0); });
    }
    int bad = 0;
    for (int index = 0; index < 8; ++index) {
      threads[index].join();
      bad += results[index] == CUDA_SUCCESS ? 0 : 1;
    }
    return bad;
  }
  if (std::strcmp(what, "errno") == 0) {
    errno = EDOM;
    const CUresult status = cuInit(0);
    const int after = errno;
    std::printf("%d errno %s\n", static_cast<int>(status), after == EDOM ? "kept" : std::strerror(after));
    return 0;
  }
  if (std::strcmp(what, "errors") == 0) {
    const char* text = nullptr;
    int number = 99;
    const int status = static_cast<int>(cuInit(0));
    cuGetErrorName(static_cast<CUresult>(status), &text);
    std::printf("%d %s", status, text == nullptr ? "(null)" : text);
    std::printf(" %d", static_cast<int>(cuDeviceGetCount(&number)));
    std::printf(" %d\n", number);
    return 0;
  }
  std::printf("cuCtxSynchronize in %s\n", place_of(dlsym(RTLD_DEFAULT, "cuCtxSynchronize")));
  if (const int bad = linked_work(); bad != 0) {
    return bad;
  }
  if (std::strcmp(what, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(linked_work() == 0 ? 0 : 7);  // CUDA does not work here: cuInit says so
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return linked_work();
  }
  if (std::strcmp(what, "exec") == 0) {
    std::fflush(stdout);
    execvp(words[2], words + 2);
    return 127;
  }
  if (std::strcmp(what, "lookup") == 0) {
    look_up("", 0, 0);
    look_up("cuGetProcAddress", 11030, 0);
    look_up("cuGetProcAddress", 12000, 0);
    look_up("cuStreamSynchronize", 7000, 0);
    look_up("cuStreamSynchronize", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    look_up("cuCtxGetDevice", 2000, 0);
    look_up("cuFutureWork", 13000, 0);
    look_up("cuNowhere", 13000, 0);
    void* function = nullptr;
    int value = 1;
    cuGetProcAddress_v2("cuFutureWork", &function, 13000, 0, nullptr);
    reinterpret_cast<int (*)(int*)>(function)(&value);
    std::printf("cuFutureWork gives %d\n", value);
    std::printf("null %d\n", static_cast<int>(cuGetProcAddress_v2("cuInit", nullptr, 13000, 0, nullptr)));
    std::printf("null %d\n", static_cast<int>(cuGetProcAddress_v2(nullptr, &function, 13000, 0, nullptr)));
  }
  return 0;
}
