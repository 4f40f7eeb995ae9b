#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>

#include "test/sim/core/contract_kernels.h"
#include "test/sim/core/kernel.h"
#include "test/sim/core/settings.h"

namespace sim {
namespace {

/// Of the side libraries, then the built-in ones.
std::vector<std::span<const Kernel>> load() {
  std::vector<std::span<const Kernel>> tables;
  std::istringstream names(settings().kernels);
  for (std::string name; std::getline(names, name, ':');) {
    if (name.empty()) {
      continue;
    }
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto* table = library == nullptr ? nullptr : static_cast<const KernelTable*>(dlsym(library, "sim_kernels"));
    if (table == nullptr || table->kernel_size != sizeof(Kernel)) {
      const char* reason = dlerror();
      std::fprintf(stderr, "sim: no kernels in %s: %s\n", name.c_str(), reason != nullptr ? reason : "another layout");
      continue;
    }
    tables.push_back(table->kernels);
  }
  tables.push_back(contract_kernels());
  return tables;
}

}  // namespace

const Kernel* find_kernel(const char* name) noexcept {
  static const auto& tables = *new std::vector<std::span<const Kernel>>(load());
  for (const auto& table : tables) {
    for (const Kernel& kernel : table) {
      if (std::strcmp(kernel.name, name) == 0) {
        return &kernel;
      }
    }
  }
  return nullptr;
}

}  // namespace sim
