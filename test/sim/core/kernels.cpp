#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "test/sim/core/contract_kernels.h"
#include "test/sim/core/kernel.h"
#include "test/sim/core/page_kernels.h"
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
  tables.push_back(page_kernels());
  return tables;
}

const Kernel* find_exactly(const char* name) noexcept {
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

/// "void (anonymous namespace)::move<int>(unsigned*, int)" is "move".
std::string own_name(std::string name) {
  const std::string unnamed = "(anonymous namespace)::";
  for (auto place = name.find(unnamed); place != std::string::npos; place = name.find(unnamed)) {
    name.erase(place, unnamed.size());
  }
  name = name.substr(0, name.find_first_of("(<"));
  return name.substr(name.find_last_of(": ") + 1);
}

}  // namespace

const Kernel* find_kernel(const char* name) noexcept {
  const Kernel* found = find_exactly(name);
  if (found != nullptr || std::strncmp(name, "_Z", 2) != 0) {
    return found;
  }
  int status = 0;
  char* demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (demangled != nullptr) {
    found = find_exactly(own_name(demangled).c_str());
    std::free(demangled);
  }
  return found;
}

}  // namespace sim
