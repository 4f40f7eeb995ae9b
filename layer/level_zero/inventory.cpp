#include "layer/level_zero/inventory.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "env/mutex.h"
#include "layer/common/object_id.h"
#include "layer/immortal.h"
#include "layer/level_zero/runtime.h"
#include "layer/waiting.h"

namespace refrain::layer::level_zero {
namespace {

constexpr const char* kShared = "it may use memory that other processes or APIs use as well";

struct Tables {
  env::Mutex mutex;
  std::unordered_map<std::uint64_t, ze_context_handle_t> contexts REFRAIN_GUARDED_BY(mutex);  ///< by id of the memory
  std::unordered_map<ze_device_handle_t, int> devices REFRAIN_GUARDED_BY(mutex);              ///< their numbers
  std::vector<ze_command_queue_handle_t> used REFRAIN_GUARDED_BY(mutex);  ///< and not known to be idle
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

class Facts final : public backends::LevelZeroFacts {
 public:
  backends::Reach reach(const backends::LiveMemory& memory, const backends::ImmediateList& list) noexcept override {
    const env::MutexLock guard(tables().mutex);
    const auto found = tables().contexts.find(memory.id);
    return found != tables().contexts.end() && found->second == list.context ? backends::Reach::kWrites
                                                                             : backends::Reach::kNone;
  }
  bool queues_are_idle() noexcept override {
    constexpr auto kPatience = std::chrono::milliseconds(10);  // limit
    return level_zero::queues_are_idle(kPatience);
  }
};

bool watches_queues() noexcept {
  return runtime.inventory != nullptr || (runtime.recorder != nullptr && runtime.recorder->wants_contents());
}

/// Whether the driver was told to take the memory from elsewhere, or to give it to others.
bool is_external(const void* more) noexcept {
  for (auto* each = static_cast<const ze_base_desc_t*>(more); each != nullptr;
       each = static_cast<const ze_base_desc_t*>(each->pNext)) {
    switch (static_cast<std::uint32_t>(each->stype)) {
      case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC:
      case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD:
      case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32: return true;
      default: break;
    }
  }
  return false;
}

}  // namespace

void start_inventory() {
  static Immortal<backends::MemoryInventory> inventory;
  runtime.inventory = &*inventory;
}

backends::LevelZeroFacts& facts() noexcept {
  static Immortal<Facts> only;
  return *only;
}

int device_number(ze_device_handle_t device) noexcept {
  try {
    const env::MutexLock guard(tables().mutex);
    auto& known = tables().devices;
    if (const auto found = known.find(device); found != known.end()) {
      return found->second;
    }
    std::uint32_t count = 0;
    std::vector<ze_device_handle_t> parts;
    if (runtime.driver.zeDeviceGetSubDevices(device, &count, nullptr) == ZE_RESULT_SUCCESS && count != 0) {
      parts.resize(count);
      if (runtime.driver.zeDeviceGetSubDevices(device, &count, parts.data()) != ZE_RESULT_SUCCESS) {
        parts.clear();
      }
    }
    int number = 0;  // one of the parts may have come first
    for (ze_device_handle_t part : parts) {
      const auto found = known.find(part);
      number = found != known.end() ? std::max(number, found->second) : number;
    }
    number = number != 0 ? number : static_cast<int>(known.size()) + 1;
    parts.push_back(device);
    for (ze_device_handle_t part : parts) {
      known[part] = number;
    }
    return number;
  } catch (...) {
    return 0;
  }
}

void note_memory(ze_context_handle_t context, ze_device_handle_t device, capture::MemoryPlace place, const void* start,
                 std::size_t bytes) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  backends::LiveMemory made;
  made.start = reinterpret_cast<std::uint64_t>(start);
  made.bytes = bytes;
  made.id = next_object_id();
  made.device = device == nullptr ? 0 : device_number(device);
  made.place = place;
  try {
    const env::MutexLock guard(tables().mutex);
    tables().contexts[made.id] = context;
  } catch (...) {
    note_incomparable("the host had no memory for the list of the program's memory");
  }
  runtime.inventory->add(made);
}

void note_sharing(const void* more) noexcept {
  if (is_external(more)) {
    note_shared();
  }
}

void note_incomparable(const char* why) noexcept {
  if (runtime.inventory != nullptr) {
    runtime.inventory->cannot_compare(why);
  }
}

void note_shared() noexcept {
  if (replay::Engine* const running = Protocol::any_engine(); running != nullptr) {
    running->others_may_wait(kShared);
  }
  note_incomparable(kShared);
}

void note_call(const char* name) noexcept {
  struct Call {
    const char* name;
    const char* why;
  };
  constexpr Call kCalls[] = {
      {"zeImageViewCreateExt", "kernels may write images, which cannot be compared"},
      {"zeImageViewCreateExp", "kernels may write images, which cannot be compared"},
      {"zeModuleDynamicLink", "it is not known which variables the code of a kernel has"},
  };
  for (const Call& call : kCalls) {
    if (std::strcmp(name, call.name) == 0) {
      note_incomparable(call.why);
    }
  }
}

Freeing::Freeing(const void* start) noexcept {
  if (runtime.inventory == nullptr || start == nullptr) {
    return;
  }
  const NotCancelled during(true);
  const auto address = reinterpret_cast<std::uint64_t>(start);
  memory_ = runtime.inventory->find(address);
  runtime.inventory->remove(address);
  if (memory_ && memory_->start != address) {
    memory_.reset();
  }
}

Freeing::~Freeing() {
  if (memory_) {
    const env::MutexLock guard(tables().mutex);
    tables().contexts.erase(memory_->id);
  }
}

void Freeing::refused() noexcept {
  if (memory_) {
    runtime.inventory->add(*memory_);
    memory_.reset();
  }
}

Uncompared::Uncompared() noexcept {
  if (runtime.inventory != nullptr) {
    const NotCancelled during(true);
    runtime.inventory->begin_freeing();
  }
}

Uncompared::~Uncompared() {
  if (runtime.inventory != nullptr) {
    runtime.inventory->end_freeing();
  }
}

void forget_context(ze_context_handle_t context) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  const NotCancelled during(true);
  const env::MutexLock guard(tables().mutex);
  runtime.inventory->keep_if([&](const backends::LiveMemory& memory) REFRAIN_REQUIRES(tables().mutex) {
    const auto found = tables().contexts.find(memory.id);
    return found == tables().contexts.end() || found->second != context;
  });
  std::erase_if(tables().contexts, [context](const auto& each) { return each.second == context; });
  runtime.backend->memory().context_gone(context);
}

void wait_for_comparison() noexcept {
  if (runtime.inventory != nullptr) [[unlikely]] {
    const NotCancelled during(true);
    runtime.inventory->wait_while_held();
  }
}

bool queues_are_idle(std::chrono::nanoseconds patience) noexcept {
  const env::MutexLock guard(tables().mutex);
  std::erase_if(tables().used, [patience](ze_command_queue_handle_t queue) {
    return runtime.driver.zeCommandQueueSynchronize(queue, static_cast<std::uint64_t>(patience.count())) ==
           ZE_RESULT_SUCCESS;
  });
  return tables().used.empty();
}

void note_queue_used(ze_command_queue_handle_t queue) noexcept {
  if (!watches_queues()) {
    return;
  }
  try {
    const env::MutexLock guard(tables().mutex);
    if (std::ranges::find(tables().used, queue) == tables().used.end()) {
      tables().used.push_back(queue);
    }
  } catch (...) {
    note_incomparable("the host had no memory for the list of the program's command queues");
  }
}

void forget_queue(ze_command_queue_handle_t queue) noexcept {
  if (watches_queues()) {
    const env::MutexLock guard(tables().mutex);
    std::erase(tables().used, queue);
  }
}

}  // namespace refrain::layer::level_zero
