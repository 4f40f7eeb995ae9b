// Capture mode only: what the recorder is told of devices, of code, and of the memory that recorded operations name.

#include <atomic>
#include <chrono>
#include <map>

#include "backends/level_zero/module_build.h"
#include "capture/limits.h"
#include "env/log.h"
#include "env/mutex.h"
#include "layer/common/captured_code.h"
#include "layer/common/captured_memory.h"
#include "layer/immortal.h"
#include "layer/level_zero/hooks.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/objects.h"
#include "layer/level_zero/resolver.h"

namespace refrain::layer::level_zero {
namespace {

/// So long the program's own work may run before contents are read; then they are left out.
constexpr auto kLongestWait = std::chrono::seconds(2);  // limit

struct Recorded {
  env::Mutex mutex;
  std::map<ze_device_handle_t, ObjectId> devices REFRAIN_GUARDED_BY(mutex);
};
Recorded& recorded() noexcept {
  static Immortal<Recorded> all;
  return *all;
}

std::optional<backends::LiveMemory> find_memory(std::uint64_t address) {
  const Place place = memory_at(address);
  if (place.id == 0) {
    return std::nullopt;
  }
  return backends::LiveMemory{place.start, place.bytes, place.id, place.device, place.kind};
}

common::CapturedMemory& captured_memory() noexcept {
  static Immortal<common::CapturedMemory> memory(common::CapturedMemory::Known{&find_memory, &memory_epoch});
  return *memory;
}

/// Waits for what may write memory that no operation has named so far: regular lists, and what came before in this
/// list. Another thread's list may be appended to meanwhile, and is left alone; so is one without order, which would
/// get one.
bool is_at_rest(ListState& list) noexcept {
  if (open_waits()) {
    return false;
  }
  // In short pieces: other threads need what is locked meanwhile, and may have to submit what is waited for.
  constexpr auto kPiece = std::chrono::milliseconds(1);  // limit
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  while (!queues_are_idle(kPiece)) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
  }
  return list.list.quiet() || !list.list.in_order || runtime.backend->finish_by(list.slot.info, until, false);
}

}  // namespace

ObjectId record_device(ze_device_handle_t device) noexcept {
  try {
    const env::MutexLock guard(recorded().mutex);
    if (const auto known = recorded().devices.find(device); known != recorded().devices.end()) {
      return known->second;
    }
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    if (runtime.driver.zeDeviceGetProperties(device, &properties) != ZE_RESULT_SUCCESS) {
      return 0;
    }
    capture::DeviceInfo info;
    info.id = next_object_id();
    info.api = "level_zero";
    info.platform = "Level Zero";
    info.name = properties.name;
    info.driver = driver_version();
    info.native = "command lists";
    info.updates = mutable_lists(device) != nullptr;
    info.keeps_order = true;
    runtime.recorder->define(info);
    recorded().devices[device] = info.id;
    return info.id;
  } catch (...) {
    return 0;
  }
}

void record_memory(const capture::OperationView& operation, ListState& list) noexcept {
  try {
    capture::Recorder& recorder = *runtime.recorder;
    const std::vector<backends::LiveMemory> fresh = captured_memory().tell(recorder, list.slot.info.context, operation);
    if (fresh.empty() || !recorder.wants_contents()) {
      return;
    }
    const bool ready = is_at_rest(list);
    common::tell_contents(recorder, fresh, [&](const backends::LiveMemory& memory, std::vector<std::byte>* into) {
      return ready && memory_at(memory.start).whole &&
             runtime.backend->read(list.slot.info, capture::ArgumentKind::kPointer, memory.start, *into).ok();
    });
  } catch (...) {
    common::say_that_buffers_are_missing();
  }
}

void record_module(ModuleState& module, const ze_module_desc_t& description) noexcept {
  try {
    const auto kind = backends::level_zero::kind_of(description.format);
    const auto build = backends::level_zero::build_of(description);
    if (std::string text = build ? backends::level_zero::text_of(*build) : std::string();
        kind && build && text.size() <= capture::format::kMaxText) {
      module.options = std::move(text);
      module.code = common::CapturedCode::all().add(
          *kind, {reinterpret_cast<const std::byte*>(description.pInputModule), description.inputSize});
      return;
    }
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      env::log_warning(
          "capture: a module is built in a way that captures do not hold (of several modules, with constants of "
          "unknown "
          "size, or with very long options); graphs with its kernels can be dumped but not benchmarked");
    }
  } catch (...) {
    module.code = 0;
  }
}

capture::FunctionId record_kernel(const ModuleState& module, const char* name, capture::FunctionId otherwise) {
  return common::CapturedCode::all().tell(*runtime.recorder, module.code, name, otherwise, module.options);
}

}  // namespace refrain::layer::level_zero
