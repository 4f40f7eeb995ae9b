#include "layer/level_zero/tables.h"

#include <cstring>
#include <iterator>

#include "env/log.h"
#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/interpose/anonymous_stubs.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/wrappers.h"

namespace refrain::layer::level_zero {

Next next;

namespace {

using interpose::HostStubs;

struct Entry {
  const char* name;
  const char* table;  ///< only where a table begins; then `name` is null
  EntryClass entry_class;
  std::uint32_t version;
  void* wrapper;
  void** next;
};

#define TABLE(prefix, name) {nullptr, #prefix #name, EntryClass::kNeutral, 0, nullptr, nullptr},
#define TYPED_ENTRY(f, c, major, minor) \
  {#f,                                  \
   nullptr,                             \
   EntryClass::c,                       \
   ZE_MAKE_VERSION(major, minor),       \
   reinterpret_cast<void*>(&wrap::f),   \
   reinterpret_cast<void**>(&next.f)},
#define SUBMIT(f, major, minor) TYPED_ENTRY(f, kSubmit, major, minor)
#define TYPED(f, major, minor) TYPED_ENTRY(f, kTyped, major, minor)
#define NEUTRAL(f, major, minor) {#f, nullptr, EntryClass::kNeutral, ZE_MAKE_VERSION(major, minor), nullptr, nullptr},
#define HOST(f, major, minor) {#f, nullptr, EntryClass::kHost, ZE_MAKE_VERSION(major, minor), nullptr, nullptr},
const Entry entries[] = {
#include "layer/level_zero/entry_points.def"
};
#undef TABLE
#undef TYPED_ENTRY
#undef SUBMIT
#undef TYPED
#undef NEUTRAL
#undef HOST

constexpr std::uint32_t kEntries = std::size(entries);
constexpr std::uint32_t kNewest = ZE_MAKE_VERSION(1, 17);
static_assert(kEntries < HostStubs::kCount / 2);

env::Mutex& mutex() noexcept {
  static Immortal<env::Mutex> lives_for_ever;
  return *lives_for_ever;
}

/// What the loader had, by place in `entries`, which is the number of its stub, too.
void* found[kEntries] REFRAIN_GUARDED_BY(mutex()) = {};

/// One member of a table.
void take_over_entry(std::uint32_t index, void** slot) noexcept REFRAIN_REQUIRES(mutex()) {
  const Entry& entry = entries[index];
  void* const ours = entry.entry_class == EntryClass::kHost ? HostStubs::address(index) : entry.wrapper;
  if (*slot == nullptr || *slot == ours) {
    return;
  }
  found[index] = *slot;
  if (entry.entry_class == EntryClass::kNeutral) {
    return;
  }
  if (entry.entry_class == EntryClass::kHost) {
    HostStubs::set(index, *slot, entry.name);
  } else {
    __atomic_store_n(entry.next, *slot, __ATOMIC_RELEASE);
  }
  *slot = ours;
}

}  // namespace

void take_over(const char* name, ze_api_version_t version, void* table) noexcept {
  const auto wanted = static_cast<std::uint32_t>(version);
  if (wanted > kNewest) {
    on_newer_loader();  // what is behind the members that are known here is not seen
  }
  const env::MutexLock guard(mutex());
  auto** slots = static_cast<void**>(table);
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    if (entries[i].table == nullptr || std::strcmp(entries[i].table, name) != 0) {
      continue;
    }
    for (std::uint32_t member = i + 1; member < kEntries && entries[member].table == nullptr; ++member) {
      if (entries[member].version <= wanted) {
        take_over_entry(member, slots++);
      }
    }
    return;
  }
}

void* next_function(const char* name) noexcept {
  const env::MutexLock guard(mutex());
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    if (entries[i].name != nullptr && std::strcmp(entries[i].name, name) == 0) {
      return found[i];
    }
  }
  return nullptr;
}

void* known_function(void* function, const char* name) noexcept {
  const env::MutexLock guard(mutex());
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    const Entry& entry = entries[i];
    if (entry.name == nullptr || std::strcmp(entry.name, name) != 0 || entry.entry_class == EntryClass::kHost) {
      continue;
    }
    if (found[i] == nullptr) {  // the loader is older than the function
      found[i] = function;
      if (entry.next != nullptr) {
        __atomic_store_n(entry.next, function, __ATOMIC_RELEASE);
      }
    }
    return entry.entry_class == EntryClass::kNeutral ? function : entry.wrapper;
  }
  return nullptr;
}

void* stub_for(void* function, const char* name) noexcept {
  static Immortal<interpose::AnonymousStubs> stubs(kEntries);
  const auto index = stubs->find(function, name);
  return index ? HostStubs::address(*index) : nullptr;
}

}  // namespace refrain::layer::level_zero
