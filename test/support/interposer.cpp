// A library of a user's that stands between a program and its driver, as libraries that limit memory do: it counts
// calls of three functions, FIRST, SECOND and THIRD, and passes them on. With LIBRARY it also answers dlsym() for these
// names, and finds the driver's functions in the library of that name; otherwise they are those of the next library.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#define VISIBLE __attribute__((visibility("default")))

namespace {

// Every argument of these functions is a number or an address.
using Function = long (*)(long, long, long, long, long, long);
using Lookup = void* (*)(void*, const char*);

// The version that the C library's first symbols have.
#if defined(__x86_64__)
constexpr const char* kFirstVersion = "GLIBC_2.2.5";
#else
constexpr const char* kFirstVersion = "GLIBC_2.17";
#endif

int calls = 0;
int depth = 0;

void* find(const char* name) {
#ifdef LIBRARY
  static const auto lookup = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", kFirstVersion));
  return lookup(dlopen(LIBRARY, RTLD_NOW), name);
#else
  return dlsym(RTLD_NEXT, name);
#endif
}

long pass_on(Function& next, const char* name, long a, long b, long c, long d, long e, long f) {
  if (next == nullptr) {
    next = reinterpret_cast<Function>(find(name));
  }
  ++calls;
  if (++depth > 20) {
    std::printf("interposer: %s calls itself\n", name);
    std::fflush(stdout);
    _exit(99);
  }
  const long result = next(a, b, c, d, e, f);
  --depth;
  return result;
}

__attribute__((destructor)) void tell() {
  std::printf("interposer: %d calls\n", calls);
}

}  // namespace

#define TEXT(name) #name
#define NAME(name) TEXT(name)
#define DEFINE(name)                                                             \
  extern "C" VISIBLE long name(long a, long b, long c, long d, long e, long f) { \
    static Function next = nullptr;                                              \
    return pass_on(next, NAME(name), a, b, c, d, e, f);                          \
  }
DEFINE(FIRST)
DEFINE(SECOND)
DEFINE(THIRD)

#ifdef LIBRARY
extern "C" VISIBLE void* dlsym(void* library, const char* name) noexcept {
#define ANSWER(function)                        \
  if (std::strcmp(name, NAME(function)) == 0) { \
    return reinterpret_cast<void*>(&function);  \
  }
  ANSWER(FIRST)
  ANSWER(SECOND)
  ANSWER(THIRD)
  static const auto lookup = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", kFirstVersion));
  // No jump: of RTLD_NEXT it is this library that asks.
  void* volatile const found = lookup(library, name);
  return found;
}
#endif
