// Ranges that programs name for other tools become regions, as if they had called layer/refrain.h: NVTX (a library that
// NVTX's headers open: NVTX_INJECTION64_PATH), ITT (the same: INTEL_LIBITTNOTIFY64) and roctx (functions in whose place
// these stand). env/ranges_environment.h sets the variables. A part of the preloaded library (see exit_hooks.cpp).
//
// The structures are those of these interfaces, which never change: nvtx3/nvtxDetail/nvtxTypes.h and nvToolsExt.h of
// the CUDA toolkit, ittnotify_config.h of the ITT API, roctx.h of ROCm.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

#include "env/exit_hooks.h"
#include "layer/refrain.h"
#include "layer/starter/c_library.h"

#pragma weak dl_iterate_phdr

namespace {

/// For names in wide characters: what is not ASCII becomes '?'.
class Narrow {
 public:
  explicit Narrow(const wchar_t* wide) noexcept {
    std::size_t length = 0;
    for (; wide != nullptr && wide[length] != 0 && length + 1 < sizeof(text_); ++length) {
      text_[length] = static_cast<unsigned>(wide[length]) < 0x80U ? static_cast<char>(wide[length]) : '?';
    }
    text_[length] = '\0';
  }
  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[64];
};

void begin(const char* name) noexcept {
  refrain_region_begin(name != nullptr ? name : "?");
}

namespace nvtx {

enum class MessageType : std::int32_t { kAscii = 1, kUnicode = 2, kRegistered = 3 };

struct Attributes {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  MessageType message_type;
  const void* message;
};
static_assert(offsetof(Attributes, message) == 40);

int begin_with(const Attributes* attributes) noexcept {
  constexpr std::uint16_t kLeast = 48;  // with a message
  const bool named = attributes != nullptr && attributes->size >= kLeast && attributes->message != nullptr;
  if (named && attributes->message_type == MessageType::kUnicode) {
    begin(Narrow(static_cast<const wchar_t*>(attributes->message)).text());
  } else if (named && (attributes->message_type == MessageType::kAscii ||
                       attributes->message_type == MessageType::kRegistered)) {
    begin(static_cast<const char*>(attributes->message));  // registered: what register_string() returned
  } else {
    begin(nullptr);
  }
  return 0;
}

// What these return are depths, for people.
int push_a(const char* name) noexcept {
  begin(name);
  return 0;
}
int push_w(const wchar_t* name) noexcept {
  begin(Narrow(name).text());
  return 0;
}
int pop() noexcept {
  refrain_region_end();
  return 0;
}
int domain_push(const void* /*domain*/, const Attributes* attributes) noexcept {
  return begin_with(attributes);
}
int domain_pop(const void* /*domain*/) noexcept {
  refrain_region_end();
  return 0;
}
/// Names are registered for the life of the process.
const void* register_string_a(const void* /*domain*/, const char* name) noexcept {
  return name == nullptr ? nullptr : strdup(name);
}
const void* register_string_w(const void* /*domain*/, const wchar_t* name) noexcept {
  return strdup(Narrow(name).text());
}
/// Programs make no ranges in a domain without a handle.
const void* domain_create(const void* /*name*/) noexcept {
  static const char domain = 0;
  return &domain;
}

using Function = void (*)();
using Table = Function**;

struct Callbacks {
  std::size_t size;
  int (*table_of)(int module, Table* table, unsigned* count);
};

struct Wanted {
  unsigned number;
  Function function;
};
template <class F>
Function any(F* function) noexcept {
  return reinterpret_cast<Function>(function);
}

template <std::size_t count>
void fill(const Callbacks& callbacks, int module, const Wanted (&wanted)[count]) noexcept {
  Table table = nullptr;
  unsigned size = 0;
  if (callbacks.table_of(module, &table, &size) == 0 || table == nullptr) {
    return;
  }
  for (const Wanted& each : wanted) {
    if (each.number <= size && table[each.number] != nullptr) {
      *table[each.number] = each.function;
    }
  }
}

}  // namespace nvtx

namespace itt {

struct Id {
  std::uint64_t words[3];
};
struct StringHandle {
  const char* name;
  const wchar_t* wide_name;
};

void task_begin(const void* /*domain*/, Id /*task*/, Id /*parent*/, const StringHandle* name) noexcept {
  if (name != nullptr && name->name == nullptr && name->wide_name != nullptr) {
    begin(Narrow(name->wide_name).text());
  } else {
    begin(name != nullptr ? name->name : nullptr);
  }
}
void task_end(const void* /*domain*/) noexcept {
  refrain_region_end();
}

struct Entry {
  const char* name;
  void** function;
  void* when_first_called;
  void* without_collector;
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

}  // namespace itt

namespace roctx {

using Push = int (*)(const char*);
using Pop = int (*)();
Push next_push = nullptr;
Pop next_pop = nullptr;

/// Whether the user wants none of it. (Config files are not read here.)
bool off() noexcept {
  static const bool answer = [] {
    const char* const value = getenv("REFRAIN_RANGES");
    return value != nullptr && strcmp(value, "off") == 0;
  }();
  return answer;
}

/// AMD's own, or those of whoever else stands in their place. They may come to be loaded later.
void find_next() noexcept {
  if (next_push != nullptr || &dl_iterate_phdr == nullptr) {
    return;
  }
  refrain::layer::starter::visit_loaded([](const char*, const refrain::layer::DynamicSymbols& symbols) {
    const auto push = reinterpret_cast<Push>(symbols.find("roctxRangePushA"));
    const auto pop = reinterpret_cast<Pop>(symbols.find("roctxRangePop"));
    if (push == nullptr || pop == nullptr || symbols.find("refrain_at_end") != nullptr) {
      return false;
    }
    next_pop = pop;
    next_push = push;
    return true;
  });
}

}  // namespace roctx

}  // namespace

extern "C" {

// NOLINTNEXTLINE(readability-identifier-naming): NVTX's, also where it looks for a library of version 2
REFRAIN_HOOK int InitializeInjectionNvtx2(const void* (*export_table)(std::uint32_t)) {
  constexpr std::uint32_t kCallbacks = 1;
  constexpr int kCore = 1;
  constexpr int kDomains = 5;
  const auto* callbacks = static_cast<const nvtx::Callbacks*>(export_table(kCallbacks));
  if (callbacks == nullptr || callbacks->size < sizeof(nvtx::Callbacks) || callbacks->table_of == nullptr) {
    return 0;
  }
  using nvtx::any;
  nvtx::fill(*callbacks, kCore,
             {{8, any(&nvtx::begin_with)}, {9, any(&nvtx::push_a)}, {10, any(&nvtx::push_w)}, {11, any(&nvtx::pop)}});
  nvtx::fill(*callbacks, kDomains,
             {{4, any(&nvtx::domain_push)},
              {5, any(&nvtx::domain_pop)},
              {10, any(&nvtx::register_string_a)},
              {11, any(&nvtx::register_string_w)},
              {12, any(&nvtx::domain_create)},
              {13, any(&nvtx::domain_create)}});
  return 1;
}

// NOLINTNEXTLINE(readability-identifier-naming): ITT's
REFRAIN_HOOK void __itt_api_init(itt::Global* global, int /*groups*/) {
  constexpr unsigned long kVersion = 3;
  if (global == nullptr || global->version[0] != kVersion || global->entries == nullptr) {
    return;
  }
  for (const itt::Entry* entry = global->entries; entry->name != nullptr; ++entry) {
    if (strcmp(entry->name, "__itt_task_begin") == 0) {
      *entry->function = reinterpret_cast<void*>(&itt::task_begin);
    } else if (strcmp(entry->name, "__itt_task_end") == 0) {
      *entry->function = reinterpret_cast<void*>(&itt::task_end);
    } else {
      *entry->function = entry->without_collector;
    }
  }
}

// NOLINTNEXTLINE(readability-identifier-naming): roctx's
REFRAIN_HOOK int roctxRangePushA(const char* name) {
  if (!roctx::off()) {
    begin(name);
  }
  roctx::find_next();
  return roctx::next_push != nullptr ? roctx::next_push(name) : -1;
}

// NOLINTNEXTLINE(readability-identifier-naming): roctx's
REFRAIN_HOOK int roctxRangePop() {
  if (!roctx::off()) {
    refrain_region_end();
  }
  roctx::find_next();
  return roctx::next_pop != nullptr ? roctx::next_pop() : -1;
}

}  // extern "C"
