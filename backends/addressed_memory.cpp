#include "backends/addressed_memory.h"

#include <new>

namespace refrain::backends {
namespace {

const char* const kOtherDevice = "kernels can use memory of another device";

[[nodiscard]] bool is_of_another(const LiveMemory& memory, int own_device) noexcept {
  return memory.place == capture::MemoryPlace::kDevice && memory.device != own_device;
}

}  // namespace

const char* why_not_comparable(const MemoryInventory& inventory, int own_device,
                               const std::function<Reach(const LiveMemory&)>& reach_of) noexcept {
  if (inventory.why_not() != nullptr) {
    return inventory.why_not();
  }
  try {
    for (const LiveMemory& memory : inventory.all()) {
      if (is_of_another(memory, own_device) && reach_of(memory) != Reach::kNone) {
        return kOtherDevice;
      }
    }
  } catch (const std::bad_alloc&) {
    return "the host has no memory for it";
  }
  return nullptr;
}

bool list_memory(const MemoryInventory& inventory, int own_device,
                 const std::function<Reach(const LiveMemory&)>& reach_of, std::vector<MemoryRange>* device,
                 std::vector<MemoryRange>* host, const char** why) noexcept {
  try {
    inventory.find_rest();
    *why = inventory.why_not();
    if (*why != nullptr) {
      return false;
    }
    for (const LiveMemory& memory : inventory.all()) {
      const Reach reach = reach_of(memory);
      if (reach == Reach::kNone) {
        continue;
      }
      if (is_of_another(memory, own_device)) {
        *why = kOtherDevice;
        return false;
      }
      if (reach == Reach::kWrites) {
        (memory.place == capture::MemoryPlace::kHost ? host : device)->push_back({memory.start, memory.bytes});
      }
    }
    if (!inventory.complete()) {
      *why = "the host had no memory for the list of the program's memory";
      return false;
    }
    return true;
  } catch (const std::bad_alloc&) {
    *why = "the host has no memory for it";
    return false;
  }
}

}  // namespace refrain::backends
