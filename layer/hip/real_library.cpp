#include "layer/hip/real_library.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "env/doctor_channel.h"
#include "env/log.h"
#include "layer/elf_exports.h"
#include "layer/elf_symbols.h"
#include "layer/hip/layer.h"
#include "layer/hip/library_search.h"
#include "layer/hip/missing_library.h"
#include "layer/hip/runtime.h"
#include "layer/hip/stubs.h"
#include "layer/hip/wrappers.h"
#include "layer/immortal.h"
#include "layer/start_up.h"

namespace refrain::layer::hip {

LibraryFunctions library{};

namespace {

// Zero-initialised, because other libraries' constructors may call us before ours have run.
std::atomic<void*> opened_library{nullptr};
std::atomic<bool> done{false};
thread_local bool loading_here __attribute__((tls_model("initial-exec"))) = false;

/// The library's functions by address.
struct Addresses {
  std::mutex mutex;
  std::unordered_map<void*, std::uint32_t> known;
  std::unordered_map<void*, void*> anonymous;
};
Addresses& addresses() noexcept {
  static Immortal<Addresses> all;
  return *all;
}

struct Counts {
  int entries = 0, neutral = 0, host = 0, typed = 0, unknown = 0;
};

void* open_library() {
  for (const std::string& path : find_hip_libraries(state().settings.hip_library, own_starter().soname)) {
    void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened != nullptr && DynamicSymbols(opened).find("hipInit") != nullptr) {
      env::log_debug("HIP: the runtime is " + path);
      return opened;
    }
    const char* error = dlerror();  // asking also clears it: the application's next dlerror() is its own
    env::log_warning({"HIP: ", path, " can't be used: ", error != nullptr ? error : "it has no hipInit"});
    if (opened != nullptr) {
      dlclose(opened);
    }
  }
  return nullptr;
}

// `library`, whose entries are in the order of entry_points.def, by number.
void set_library_function(std::size_t index, void* function) noexcept {
  std::memcpy(reinterpret_cast<char*>(&library) + index * sizeof(void*), &function, sizeof(void*));
}

void count(EntryClass entry_class, Counts* counts) noexcept {
  ++counts->entries;
  switch (entry_class) {
    case EntryClass::kNeutral: ++counts->neutral; break;
    case EntryClass::kHost: ++counts->host; break;
    default: ++counts->typed; break;
  }
}

void tell(const char* what, const Counts& counts) {
  env::tell_doctor(std::string("refrain layer ") + what +
                   " " REFRAIN_VERSION " hip entries=" + std::to_string(counts.entries) +
                   " neutral=" + std::to_string(counts.neutral) + " host=" + std::to_string(counts.host) +
                   " typed=" + std::to_string(counts.typed) + " unknown=" + std::to_string(counts.unknown) + "\n");
}

std::span<const std::byte> code_around(const void* address) {
  const Segments segments(address, Segments::Kind::kExecutable);
  return segments.extent();
}

// Fills `library` and the addresses.
void resolve(void* opened, Counts* counts) {
  const auto descriptions = entry_descriptions();
  static_assert(sizeof(LibraryFunctions) % sizeof(void*) == 0);
  const DynamicSymbols symbols(opened);
  for (std::uint32_t index = 0; index < descriptions.size(); ++index) {
    const EntryDescription& description = descriptions[index];
    void* function = symbols.find(description.entry.name);
    if (function == nullptr) {
      set_library_function(index, missing_function(description.entry.name));
      set_inner_target(index, missing_function(description.entry.name));
      continue;
    }
    set_library_function(index, function);
    set_inner_target(index, function);
    count(description.entry_class, counts);
    const auto [known, first] = addresses().known.emplace(function, index);
    if (!first && descriptions[known->second].entry_class == EntryClass::kNeutral) {
      known->second = index;  // of functions that share an address the one that is not handed out as it is
    }
  }
  for (const ExportedFunction& function : exported_functions(opened)) {
    counts->unknown += addresses().known.contains(function.address) ? 0 : 1;
  }
  if (void* initialise = symbols.find("hipInit"); initialise != nullptr) {
    set_inner_code(code_around(initialise), code_around(reinterpret_cast<const void*>(&load_library_for)));
  }
}

// Everything is ready: the stubs lead to us, or to the library.
void lead_to(void* opened) noexcept {
  const auto descriptions = entry_descriptions();
  const DynamicSymbols symbols(opened);
  for (std::uint32_t index = 0; index < descriptions.size(); ++index) {
    const EntryDescription& description = descriptions[index];
    void* const function = symbols.find(description.entry.name);
    const bool ours = interposing() && description.wrapper != nullptr;
    set_target(index, function == nullptr ? missing_function(description.entry.name)
                      : ours              ? description.wrapper
                                          : function);
  }
}

void lead_nowhere() noexcept {
  env::log_error({"HIP: no real ", own_starter().soname,
                  " was found (setting hip_library names it); calls report hipErrorNoDevice"});
  const auto descriptions = entry_descriptions();
  for (std::uint32_t index = 0; index < descriptions.size(); ++index) {
    void* const function = no_library_function(descriptions[index].entry.name);
    set_library_function(index, function);
    set_target(index, function);
  }
}

void load() noexcept {
  void* opened = nullptr;
  const bool started = start_up("HIP", [&opened] {
    start_layer();
    opened = open_library();
    if (opened != nullptr) {
      Counts counts;
      resolve(opened, &counts);
      tell(interposing() ? "active" : "off", counts);
      opened_library.store(opened, std::memory_order_release);
    }
  });
  if (!started) {
    undecided.store(false);  // nothing is started later either
    own_starter().pass_to(opened);
  } else if (opened != nullptr) {
    lead_to(opened);
  } else {
    lead_nowhere();
  }
}

}  // namespace

void* load_library_for(std::uint32_t index) noexcept {
  const char* name = entry_descriptions()[index].entry.name;
  if (loading_here) {
    // The library's constructors, or our own start: what there is so far.
    void* function = real_function(name);
    return function != nullptr ? function : not_ready_function();
  }
  static Immortal<std::mutex> mutex;
  const std::lock_guard guard(*mutex);
  if (!done.load(std::memory_order_relaxed)) {
    loading_here = true;
    load();
    loading_here = false;
    done.store(true, std::memory_order_release);
  }
  return target_of(index);
}

void* real_function(const char* name) noexcept {
  void* opened = opened_library.load(std::memory_order_acquire);
  return opened == nullptr || name == nullptr ? nullptr : DynamicSymbols(opened).find(name);
}

void pass_everything() noexcept {
  set_stubs_watching(false);
  for (std::uint32_t index = 0; index < entry_descriptions().size(); ++index) {
    if (void* function = real_function(entry_descriptions()[index].entry.name); function != nullptr) {
      set_target(index, function);
    }
  }
}

void* address_for_program(void* function, const char* name) noexcept {
  try {
    Addresses& all = addresses();
    const auto descriptions = entry_descriptions();
    const auto known = all.known.find(function);
    if (known != all.known.end()) {
      return descriptions[known->second].entry_class == EntryClass::kNeutral ? function : stub_address(known->second);
    }
    const std::lock_guard guard(all.mutex);
    if (const auto given = all.anonymous.find(function); given != all.anonymous.end()) {
      return given->second;
    }
    if (void* stub = take_anonymous_stub(function, name); stub != nullptr) {
      all.anonymous.emplace(function, stub);
      return stub;
    }
  } catch (...) {
    // As if there were no more stubs.
  }
  on_stubs_exhausted();
  return function;
}

}  // namespace refrain::layer::hip
