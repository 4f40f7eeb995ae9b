// Opens the driver itself. Usage: opening_program open|namespace LIBRARY | deepbind PLUGIN
#include "test/cuda/work.h"

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (count < 3) {
    return 2;
  }
  void* library = nullptr;
  if (std::strcmp(words[1], "namespace") == 0) {
    library = dlmopen(LM_ID_NEWLM, words[2], RTLD_NOW);
  } else {
    const bool deep = std::strcmp(words[1], "deepbind") == 0;
    library = dlopen(words[2], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0));
  }
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 3;
  }
  if (void* work = dlsym(library, "plugin_work"); work != nullptr) {
    return reinterpret_cast<int (*)()>(work)();
  }
  return do_work_of(library);
}
