// Names ranges in one of the ways that programs have, and prints the regions that a layer is told of.
// Usage: ranges_program nvtx|itt|roctx
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "env/control_hooks.h"
#if HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): AMD's, of roctx_library.cpp
int roctxRangePushA(const char* name);
int roctxRangePop();
// NOLINTEND(readability-identifier-naming)
}

namespace {

void print(const refrain::env::Region* region) noexcept {
  std::string path;
  for (; region != nullptr; region = region->parent) {
    path = "/" + std::string(region->name) + path;
  }
  std::printf("%s\n", path.empty() ? "-" : path.c_str());
}

const RefrainLayer kLayer{[]() noexcept {}, []() noexcept {}, []() noexcept {}, &print};

int nvtx() {
#if HAVE_NVTX
  nvtxRangePushA("ascii");
  nvtxRangePushW(L"wide \x00E4");
  nvtxRangePop();
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "attributes";
  nvtxRangePushEx(&attributes);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
  if (domain == nullptr) {
    return 1;
  }
  {
    std::string name = "registered";
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, name.c_str());
    name = "overwritten";
  }
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxMarkA("no range");
  nvtxDomainRangePop(domain);
  attributes.messageType = NVTX_MESSAGE_UNKNOWN;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();  // none is open
  return 0;
#else
  return 77;
#endif
}

// As the static part of ITT does it that programs are linked with: it has a table of its functions, which the library
// that INTEL_LIBITTNOTIFY64 names fills.
struct Id {
  unsigned long long words[3];
};
struct StringHandle {
  const char* name;
  const wchar_t* wide_name;
};
struct Entry {
  const char* name;
  void** function;
  void* first;
  void* none;
  int group;
};
struct Global {
  unsigned char magic[8];
  unsigned long version[3];
  volatile long initialized[3];
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** library_name;
  Entry* entries;
};

int itt() {
  const char* const file = std::getenv("INTEL_LIBITTNOTIFY64");
  void* const library = file == nullptr ? nullptr : dlopen(file, RTLD_LAZY);
  auto* const init =
      reinterpret_cast<void (*)(Global*, int)>(library == nullptr ? nullptr : dlsym(library, "__itt_api_init"));
  if (init == nullptr) {
    return 1;
  }
  void *begin = nullptr, *end = nullptr, *other = nullptr;
  int none = 0;
  Entry entries[] = {{"__itt_task_begin", &begin, nullptr, nullptr, 0},
                     {"__itt_marker", &other, nullptr, &none, 0},
                     {"__itt_task_end", &end, nullptr, nullptr, 0},
                     {nullptr, nullptr, nullptr, nullptr, 0}};
  Global global{};
  global.version[0] = 3;
  global.entries = entries;
  init(&global, -1);
  if (other != &none) {
    return 2;
  }
  const auto task_begin = reinterpret_cast<void (*)(const void*, Id, Id, const StringHandle*)>(begin);
  const auto task_end = reinterpret_cast<void (*)(const void*)>(end);
  const StringHandle step{"step", nullptr}, wide{nullptr, L"wide"};
  task_begin(nullptr, {}, {{1, 2, 3}}, &step);
  task_begin(nullptr, {}, {}, &wide);
  task_end(nullptr);
  task_end(nullptr);
  return 0;
}

int roctx() {
  std::printf("depth %d\n", roctxRangePushA("outer"));
  std::printf("depth %d\n", roctxRangePushA("inner"));
  std::printf("depth %d\n", roctxRangePop());
  std::printf("depth %d\n", roctxRangePop());
  return 0;
}

}  // namespace

int main(int /*count*/, char** words) {
  auto* const attach = reinterpret_cast<decltype(&refrain_attach)>(dlsym(RTLD_DEFAULT, "refrain_attach"));
  if (attach != nullptr) {
    attach(&kLayer);
  }
  const std::string way = words[1];
  return way == "nvtx" ? nvtx() : way == "itt" ? itt() : roctx();
}
