#include "layer/interpose/real_library.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "env/doctor_channel.h"
#include "env/log.h"
#include "env/mutex.h"
#include "env/preload.h"
#include "layer/elf_exports.h"
#include "layer/elf_symbols.h"
#include "layer/immortal.h"
#include "layer/library_search.h"
#include "layer/start_up.h"

namespace refrain::layer::interpose {
namespace {

/// Stubs tell no more than their number.
RealLibrary* library_of_this_layer = nullptr;

thread_local bool loading_here __attribute__((tls_model("initial-exec"))) = false;

std::span<const std::byte> code_around(const void* address) {
  const Segments segments(address, Segments::Kind::kExecutable);
  return segments.extent();
}

}  // namespace

FirstCall RealLibrary::take_over(const Starter& starter) noexcept {
  const std::span<void* const> answered = facts_.answered == nullptr ? std::span<void* const>() : facts_.answered();
  const std::size_t entries = stubs_.entries().size();
  if (std::strcmp(starter.version, REFRAIN_VERSION) != 0 || starter.stubs != entries + answered.size()) {
    return nullptr;
  }
  library_of_this_layer = this;
  stubs_.take_over(starter);
  for (std::size_t i = 0; i < answered.size(); ++i) {
    stubs_.set_target(static_cast<std::uint32_t>(entries + i), answered[i]);
  }
  return &first_call;
}

env::Settings& RealLibrary::settings() noexcept {
  static Immortal<env::Settings> settings;
  return *settings;
}

bool RealLibrary::interposing() const noexcept {
  return settings().mode != env::Mode::kOff && settings().*facts_.wanted;
}

void* RealLibrary::function(const char* name) const noexcept {
  void* const opened = opened_.load(std::memory_order_acquire);
  return opened == nullptr || name == nullptr ? nullptr : DynamicSymbols(opened).find(name);
}

AddressMap& RealLibrary::addresses() noexcept {
  static Immortal<AddressMap> map(stubs_, facts_.api, facts_.is_version);
  return *map;
}

void* RealLibrary::address_for_program(void* function, const char* wanted, const std::string& label) noexcept {
  if (void* const ours = addresses().map(function, wanted, label); ours != nullptr) {
    return ours;
  }
  // What is not seen may observe anything: nothing may be held any more.
  facts_.give_up("more functions than stubs, so that some calls are not seen");
  return function;
}

void RealLibrary::pass_everything() noexcept {
  stubs_.set_watching(false);
  const auto entries = stubs_.entries();
  for (std::uint32_t index = 0; index < entries.size(); ++index) {
    if (void* const real = function(entries[index].entry.name); real != nullptr) {
      stubs_.set_target(index, real);
    }
  }
}

void* RealLibrary::first_call(std::uint32_t index) noexcept {
  const int saved_errno = errno;
  RealLibrary& library = *library_of_this_layer;
  void* const target = index < library.stubs_.entries().size() ? library.load_for(index) : library.stubs_.target(index);
  errno = saved_errno;
  return target;
}

/// Loads the library, once, whichever thread comes first. Returns where the call goes on.
void* RealLibrary::load_for(std::uint32_t index) noexcept {
  if (loading_here) {
    // The library's constructors, or our own start: what there is so far.
    void* const real = function(stubs_.entries()[index].entry.name);
    return real != nullptr ? real : facts_.missing.not_ready;
  }
  static Immortal<env::Mutex> mutex;
  const env::MutexLock guard(*mutex);
  if (!done_.load(std::memory_order_relaxed)) {
    loading_here = true;
    load();
    loading_here = false;
    done_.store(true, std::memory_order_release);
  }
  return stubs_.target(index);
}

void RealLibrary::load() noexcept {
  void* opened = nullptr;
  const bool started = start_up(facts_.api, [&] {
    read_settings();
    opened = open();
    if (opened == nullptr) {
      return;
    }
    resolve(opened);
    notify_doctor();
    opened_.store(opened, std::memory_order_release);
    if (interposing() && facts_.loaded != nullptr) {
      facts_.loaded();
    }
  });
  if (!started) {
    if (facts_.not_loaded != nullptr) {
      facts_.not_loaded();
    }
    stubs_.starter().pass_to(opened);
  } else if (opened != nullptr) {
    lead_to(opened);
  } else {
    lead_nowhere();
  }
}

void RealLibrary::read_settings() {
  settings() = layer::read_settings();
  env::restore_preload(settings(), stubs_.starter().file);
}

void* RealLibrary::open() const {
  for (const std::string& path :
       find_libraries({settings().*facts_.file, stubs_.starter().soname, facts_.marker, facts_.folders})) {
    void* opened = dlopen((facts_.spell == nullptr ? path : facts_.spell(path)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened != nullptr && DynamicSymbols(opened).find(facts_.probe) != nullptr) {
      env::log_debug(std::string(facts_.api) + ": the real library is " + path);
      return opened;
    }
    const char* error = dlerror();  // asking also clears it: the application's next dlerror() is its own
    env::log_warning({facts_.api, ": ", path, " can't be used: ",
                      error != nullptr ? error : (std::string("it has no ") + facts_.probe).c_str()});
    if (opened != nullptr) {
      dlclose(opened);
    }
  }
  return nullptr;
}

void RealLibrary::set_function(std::size_t index, void* function) noexcept {
  if (index < facts_.function_count) {
    std::memcpy(static_cast<char*>(facts_.functions) + index * sizeof(void*), &function, sizeof(void*));
  }
}

void RealLibrary::count(EntryClass entry_class) noexcept {
  ++counts_.entries;
  switch (entry_class) {
    case EntryClass::kNeutral: ++counts_.neutral; break;
    case EntryClass::kHost: ++counts_.host; break;
    case EntryClass::kTyped: ++counts_.typed; break;
  }
}

/// Fills the real functions and the address map.
void RealLibrary::resolve(void* opened) {
  const auto entries = stubs_.entries();
  const DynamicSymbols symbols(opened);
  for (std::uint32_t index = 0; index < entries.size(); ++index) {
    const char* const name = entries[index].entry.name;
    void* const found = symbols.find(name);
    void* const real = found == nullptr ? facts_.missing.lacking(name) : found;
    set_function(index, real);
    if (stubs_.guarded()) {
      stubs_.set_inner_target(index, real);
    }
    if (found != nullptr) {
      count(entries[index].entry_class);
      addresses().add(found, index);
    }
  }
  note_unknown_exports(opened);
  if (stubs_.guarded()) {
    stubs_.set_inner_code(code_around(symbols.find(facts_.probe)),
                          code_around(reinterpret_cast<const void*>(&first_call)));
  }
}

/// Exports that are in no list get their name into the map, for explanations.
void RealLibrary::note_unknown_exports(void* opened) {
  std::unordered_set<std::string_view> known;
  known.reserve(stubs_.entries().size());
  for (const EntryDescription& description : stubs_.entries()) {
    known.insert(description.entry.name);
  }
  for (const ExportedFunction& exported : exported_functions(opened)) {
    if (exported.name.starts_with(facts_.prefix) && !known.contains(exported.name)) {
      addresses().add_unknown(exported.address, std::string(exported.name));
      ++counts_.unknown;
    }
  }
}

void RealLibrary::notify_doctor() const {
  env::notify_doctor(std::string("refrain layer ") + (interposing() ? "active" : "off") + " " REFRAIN_VERSION " " +
                     facts_.short_name + " entries=" + std::to_string(counts_.entries) +
                     " neutral=" + std::to_string(counts_.neutral) + " host=" + std::to_string(counts_.host) +
                     " typed=" + std::to_string(counts_.typed) + " unknown=" + std::to_string(counts_.unknown) + "\n");
}

/// Everything is ready: the stubs lead to us, or to the library.
void RealLibrary::lead_to(void* opened) noexcept {
  const auto entries = stubs_.entries();
  const DynamicSymbols symbols(opened);
  for (std::uint32_t index = 0; index < entries.size(); ++index) {
    const EntryDescription& description = entries[index];
    void* const real = symbols.find(description.entry.name);
    const bool ours = interposing() && description.wrapper != nullptr;
    stubs_.set_target(index, real == nullptr ? facts_.missing.lacking(description.entry.name)
                             : ours          ? description.wrapper
                                             : real);
  }
}

void RealLibrary::lead_nowhere() noexcept {
  env::log_error({facts_.api, ": no real ", stubs_.starter().soname, " was found (setting ", facts_.file_setting,
                  " names it); calls report ", facts_.no_device});
  const auto entries = stubs_.entries();
  for (std::uint32_t index = 0; index < entries.size(); ++index) {
    void* const function = facts_.missing.no_library(entries[index].entry.name);
    set_function(index, function);
    stubs_.set_target(index, function);
  }
}

}  // namespace refrain::layer::interpose
