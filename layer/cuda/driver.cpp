#include "layer/cuda/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "env/doctor_channel.h"
#include "env/log.h"
#include "layer/cuda/address_map.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/driver_search.h"
#include "layer/cuda/layer.h"
#include "layer/cuda/missing_driver.h"
#include "layer/cuda/stubs.h"
#include "layer/elf_exports.h"
#include "layer/elf_symbols.h"
#include "layer/immortal.h"
#include "layer/start_up.h"

namespace refrain::layer::cuda {

DriverFunctions driver{};

namespace {

// Zero-initialised, because other libraries' constructors may call us before ours have run.
std::atomic<void*> library{nullptr};
std::atomic<bool> done{false};
thread_local bool loading_here __attribute__((tls_model("initial-exec"))) = false;

DriverFacts& facts() noexcept {
  static Immortal<DriverFacts> instance;
  return *instance;
}

void* open_driver() {
  // An audit module would send the path back to us.
  const bool audited = std::getenv("LD_AUDIT") != nullptr;
  for (const std::string& path : find_drivers(state().settings.cuda_driver)) {
    void* opened = dlopen((audited ? unredirected(path) : path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened != nullptr && DynamicSymbols(opened).find("cuInit") != nullptr) {
      facts().path = path;
      return opened;
    }
    const char* error = dlerror();  // asking also clears it: the application's next dlerror() is its own
    env::log_warning({"CUDA: ", path, " can't be used: ", error != nullptr ? error : "it has no cuInit"});
    if (opened != nullptr) {
      dlclose(opened);
    }
  }
  return nullptr;
}

// `driver`, whose entries are in the order of entry_points.def, by number.
void set_driver_function(std::size_t index, void* function) noexcept {
  constexpr std::size_t kEntries = sizeof(DriverFunctions) / sizeof(void*);
  if (index < kEntries) {
    std::memcpy(reinterpret_cast<char*>(&driver) + index * sizeof(void*), &function, sizeof(void*));
  }
}

void count(EntryClass entry_class) noexcept {
  DriverFacts& found = facts();
  ++found.entries;
  switch (entry_class) {
    case EntryClass::kNeutral: ++found.neutral; break;
    case EntryClass::kHost: ++found.host; break;
    default: ++found.typed; break;
  }
}

/// Exports that are in no list get their name into the map, for explanations.
void note_unknown_exports(void* opened) {
  std::unordered_set<std::string_view> known;
  known.reserve(entry_descriptions().size());
  for (const EntryDescription& description : entry_descriptions()) {
    known.insert(description.entry.name);
  }
  for (const ExportedFunction& function : exported_functions(opened)) {
    if (function.name.starts_with("cu") && !known.contains(function.name)) {
      address_map().add_unknown(function.address, std::string(function.name));
      ++facts().unknown;
    }
  }
}

void tell(const char* what) {
  const DriverFacts& found = facts();
  env::tell_doctor(std::string("refrain layer ") + what +
                   " " REFRAIN_VERSION " cuda entries=" + std::to_string(found.entries) +
                   " neutral=" + std::to_string(found.neutral) + " host=" + std::to_string(found.host) +
                   " typed=" + std::to_string(found.typed) + " unknown=" + std::to_string(found.unknown) + "\n");
}

// Fills `driver` and the address map.
void resolve(void* opened) {
  const auto descriptions = entry_descriptions();
  const DynamicSymbols symbols(opened);
  for (std::uint32_t index = 0; index < descriptions.size(); ++index) {
    void* function = symbols.find(descriptions[index].entry.name);
    set_driver_function(index, function == nullptr ? missing_function() : function);
    if (function != nullptr) {
      count(descriptions[index].entry_class);
      address_map().add(function, index);
    }
  }
  note_unknown_exports(opened);
}

// Everything is ready: the stubs lead to us, or to the driver.
void lead_to(void* opened) noexcept {
  const auto descriptions = entry_descriptions();
  const DynamicSymbols symbols(opened);
  for (std::uint32_t index = 0; index < descriptions.size(); ++index) {
    const EntryDescription& description = descriptions[index];
    void* const function = symbols.find(description.entry.name);
    const bool ours = interposing() && description.wrapper != nullptr;
    set_target(index, function == nullptr ? missing_function() : ours ? description.wrapper : function);
  }
}

void lead_nowhere() noexcept {
  env::log_error(
      "CUDA: no real libcuda.so.1 was found (setting cuda_driver names it); calls report CUDA_ERROR_NO_DEVICE");
  const auto descriptions = entry_descriptions();
  for (std::uint32_t index = 0; index < descriptions.size(); ++index) {
    void* const function = no_driver_function(descriptions[index].entry.name);
    set_driver_function(index, function);
    set_target(index, function);
  }
}

void load() noexcept {
  void* opened = nullptr;
  const bool started = start_up("CUDA", [&] {
    start_layer();
    opened = open_driver();
    if (opened == nullptr) {
      return;
    }
    resolve(opened);
    env::log_debug("CUDA: the driver is " + facts().path);
    tell(interposing() ? "active" : "off");
    library.store(opened, std::memory_order_release);
    on_driver_loaded();
  });
  if (!started) {
    own_starter().pass_to(opened);
  } else if (opened != nullptr) {
    lead_to(opened);
  } else {
    lead_nowhere();
  }
}

}  // namespace

void* load_driver_for(std::uint32_t index) noexcept {
  const char* name = entry_descriptions()[index].entry.name;
  if (loading_here) {
    // The driver's constructors, or our own start: what there is so far.
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

bool driver_loaded() noexcept {
  return library.load(std::memory_order_acquire) != nullptr;
}

void* real_function(const char* name) noexcept {
  void* opened = library.load(std::memory_order_acquire);
  return opened == nullptr || name == nullptr ? nullptr : DynamicSymbols(opened).find(name);
}

const DriverFacts& driver_facts() noexcept {
  return facts();
}

}  // namespace refrain::layer::cuda
