// The inventory of the program's memory: what the driver allocated, and what it frees.
//
// L has, besides what objects.h lists, describe_memory(address, found): what the driver says of memory around an
// address, false if it is none that a device can use; and ask_variables_again(): variables of code may be elsewhere, or
// gone.
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/memory_inventory.h"
#include "layer/shared_mapping.h"
#include "layer/streams/objects.h"
#include "layer/waiting.h"

namespace refrain::layer::streams {

/// Behind a call that may have made memory there (0: nowhere), if anybody wants the inventory. False: it has none
/// there.
template <class L>
bool note_memory(typename L::Api::Status status, std::uint64_t address) noexcept {
  backends::MemoryInventory* const inventory = L::runtime().inventory;
  backends::LiveMemory made;
  if (inventory == nullptr || status != L::Api::kSuccess || address == 0 || !L::describe_memory(address, &made)) {
    return false;
  }
  inventory->add(made);
  return true;
}

inline constexpr const char* kSharedMemory = "it may use memory that other processes or APIs use as well";
inline constexpr const char* kPeerAccess = "they may use each other's memory";

/// Behind a call after which other devices or processes may wait for what kernels write: see
/// replay::Engine::others_may_wait(). The program's first call may be one. `why` has static lifetime.
template <class L>
void note_others(typename L::Api::Status status, const char* why) noexcept {
  if (status != L::Api::kSuccess) {
    return;
  }
  L::runtime().others_wait.store(why);
  if (replay::Engine* const running = L::runtime().engine.load(); running != nullptr) {
    running->others_may_wait(why);
  }
}

/// Behind a call with which kernels may write what cannot be put back: verify compares nothing from then on. `why` has
/// static lifetime.
template <class L>
void note_incomparable(typename L::Api::Status status, const char* why) noexcept {
  if (why == kSharedMemory) {
    note_others<L>(status, why);
  }
  if (L::runtime().inventory != nullptr && status == L::Api::kSuccess) {
    L::runtime().inventory->cannot_compare(why);
  }
}

using backends::kPrintsOrAllocates;

/// Behind a call that makes memory of the host known to devices.
template <class L>
void note_registered(typename L::Api::Status status, void* host, std::size_t bytes) noexcept {
  note_memory<L>(status, reinterpret_cast<std::uint64_t>(host));
  if (L::runtime().inventory != nullptr && status == L::Api::kSuccess && is_shared_mapping(host, bytes)) {
    L::runtime().inventory->cannot_compare(kSharedMemory);
  }
}

/// Of a kernel that may be in graphs.
template <class L>
void note_kernel_name(std::string_view kernel) noexcept {
  if (works_with_other_devices(kernel)) {
    L::runtime().inventory->cannot_compare("a kernel works together with other devices");
  }
}

/// Before a call that frees the allocation that starts there. Waits while memory is compared.
template <class L>
void forget_memory(std::uint64_t start) noexcept {
  if (L::runtime().inventory != nullptr) {
    const NotCancelled during(true);
    L::runtime().inventory->remove(start);
  }
}

/// Around a call that frees nobody knows what: whatever the driver does not know behind it is forgotten. Waits while
/// memory is compared; then none is until the end.
template <class L>
class Freeing {
 public:
  Freeing() noexcept {
    if (L::runtime().inventory != nullptr) {
      const NotCancelled during(true);
      L::runtime().inventory->begin_freeing();
    }
  }
  ~Freeing() {
    if (L::runtime().inventory != nullptr) {
      const NotCancelled during(true);
      L::runtime().inventory->keep_if([](const backends::LiveMemory& memory) {
        backends::LiveMemory now;
        return L::describe_memory(memory.start, &now) && now.id == memory.id;
      });
      L::ask_variables_again();
      L::runtime().inventory->end_freeing();
    }
  }
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
};

}  // namespace refrain::layer::streams
