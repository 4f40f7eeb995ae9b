// Preloaded: has allocations and thread creations of Refrain's libraries fail, and counts them.
//
//   INJECT_LIBRARIES=name:name  the files whose calls count
//   INJECT_KIND=memory|thread   what fails
//   INJECT_AT=N                 the N-th one, from 1; 0: none
//   INJECT_ON=1                 and all that come after it
//   INJECT_COUNT=file           8 bytes: how many there were, also if the process is killed
//   INJECT_TRACE=1              a process that aborts or crashes says where, as backtrace_symbols_fd() does
//
// A call is Refrain's if the innermost code on the stack that is not the C or C++ library's is.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define VISIBLE __attribute__((visibility("default")))

// The C library's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}
// NOLINTEND(readability-identifier-naming)

namespace {

constexpr std::size_t kMostLibraries = 8, kMostLetters = 64;

enum class Kind : std::uint8_t { kMemory, kThread };
enum class Owner : std::uint8_t { kRefrain, kRuntime, kOther };

char libraries[kMostLibraries][kMostLetters];
std::size_t library_count = 0;
Kind failing = Kind::kMemory;
std::uint64_t at = 0;
bool on = false;
std::atomic<std::uint64_t>* count = nullptr;  ///< null: nothing is counted yet
decltype(&pthread_create) real_pthread_create = nullptr;
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

const char* file_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool begins(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

Owner owner_of(const void* code) {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(code), &found) != 0) {
    return Owner::kOther;
  }
  const char* const name = file_name(found.dlfo_link_map->l_name);
  for (std::size_t i = 0; i < library_count; ++i) {
    if (std::strcmp(name, libraries[i]) == 0) {
      return Owner::kRefrain;
    }
  }
  // Not the dynamic linker: what it needs to open a library nobody could do without.
  return begins(name, "libc.so") || begins(name, "libstdc++.so") ? Owner::kRuntime : Owner::kOther;
}

_Unwind_Reason_Code look(_Unwind_Context* frame, void* found) {
  const auto place = static_cast<std::uintptr_t>(_Unwind_GetIP(frame));
  dl_find_object object{};
  const bool known = _dl_find_object(reinterpret_cast<void*>(place), &object) == 0;
  if (known && begins(file_name(object.dlfo_link_map->l_name), "libinjector.so")) {
    return _URC_NO_REASON;
  }
  const Owner owner = owner_of(reinterpret_cast<void*>(place));
  *static_cast<Owner*>(found) = owner;
  return owner == Owner::kRuntime ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

bool is_refrains(const void* caller) {
  Owner owner = owner_of(caller);
  if (owner == Owner::kRuntime) {
    _Unwind_Backtrace(&look, &owner);
  }
  return owner == Owner::kRefrain;
}

/// Whether this call is to fail.
bool fails(Kind kind, const void* caller) {
  if (count == nullptr || kind != failing || inside) {
    return false;
  }
  inside = true;
  const bool ours = is_refrains(caller);
  inside = false;
  if (!ours) {
    return false;
  }
  const std::uint64_t number = count->fetch_add(1) + 1;
  return at != 0 && (on ? number >= at : number == at);
}

bool memory_fails(const void* caller) {
  if (!fails(Kind::kMemory, caller)) {
    return false;
  }
  errno = ENOMEM;
  return true;
}

void say_where(int number) {
  void* frames[64];
  inside = true;
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  signal(number, SIG_DFL);
  raise(number);
}

void read_libraries(const char* names) {
  while (names != nullptr && *names != '\0' && library_count < kMostLibraries) {
    const std::size_t length = std::strcspn(names, ":");
    if (length < kMostLetters) {
      std::memcpy(libraries[library_count++], names, length);
    }
    names += length + (names[length] == '\0' ? 0 : 1);
  }
}

__attribute__((constructor)) void start() {
  read_libraries(std::getenv("INJECT_LIBRARIES"));
  const char* const kind = std::getenv("INJECT_KIND");
  failing = kind != nullptr && std::strcmp(kind, "thread") == 0 ? Kind::kThread : Kind::kMemory;
  const char* const number = std::getenv("INJECT_AT");
  at = number == nullptr ? 0 : std::strtoull(number, nullptr, 10);
  on = std::getenv("INJECT_ON") != nullptr;
  real_pthread_create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const char* const file = std::getenv("INJECT_COUNT");
  const int descriptor = file == nullptr ? -1 : open(file, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    return;
  }
  void* const place = mmap(nullptr, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (std::getenv("INJECT_TRACE") != nullptr) {
    signal(SIGABRT, &say_where);
    signal(SIGSEGV, &say_where);
  }
  // Unwinding looks for its tables once, which must not happen inside malloc().
  Owner ignored = Owner::kOther;
  _Unwind_Backtrace(&look, &ignored);
  count = place == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(place);
}

}  // namespace

extern "C" {

VISIBLE void* malloc(std::size_t bytes) noexcept {
  return memory_fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
VISIBLE void* calloc(std::size_t number, std::size_t bytes) noexcept {
  return memory_fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(number, bytes);
}
VISIBLE void* realloc(void* old, std::size_t bytes) noexcept {
  return memory_fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(old, bytes);
}
VISIBLE void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memory_fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
VISIBLE void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return memory_fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
VISIBLE int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  if (memory_fails(__builtin_return_address(0))) {
    return ENOMEM;
  }
  *result = __libc_memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}
VISIBLE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                           void* what) noexcept {
  return fails(Kind::kThread, __builtin_return_address(0)) ? EAGAIN
                                                           : real_pthread_create(thread, attributes, work, what);
}
}
