// A program that opens the library itself, as plugins and interpreters do. Usage: opening_program NAME [deepbind]
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  const int deep = argc > 2 ? RTLD_DEEPBIND : 0;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | deep);
  if (library == nullptr) {
    std::printf("not opened\n");
    return 0;
  }
  auto* synchronize = reinterpret_cast<int (*)()>(dlsym(library, "hipDeviceSynchronize"));
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(synchronize), &info);
  std::printf("hipDeviceSynchronize %d in %s\n", synchronize(),
              std::strstr(info.dli_fname, "librefrain") != nullptr ? "shim" : "library");
  return 0;
}
