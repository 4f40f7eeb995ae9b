#include "backends/level_zero/kernel_call.h"

#include <array>
#include <cstring>

namespace refrain::backends {

using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

namespace {

/// Of a kPointerMigrate.
bool is_advice(const OperationView& operation) noexcept {
  const auto arguments = operation.arguments();
  return arguments.size() > 1 && arguments[1].kind == ArgumentKind::kValue &&
         arguments[1].size == sizeof(ze_memory_advice_t);
}

}  // namespace

int arguments_before_events(const OperationView& operation) noexcept {
  switch (operation.kind()) {
    case OperationKind::kKernel: {
      // The kernel's arguments end with the settings, the only value in front of an event.
      const auto arguments = operation.arguments();
      for (std::size_t i = arguments.size(); i > 0; --i) {
        if (arguments[i - 1].kind != ArgumentKind::kOtherHandle) {
          return static_cast<int>(i);
        }
      }
      return -1;
    }
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerFill:
    case OperationKind::kCopyBufferRect: return 2;
    case OperationKind::kPointerMigrate: return is_advice(operation) ? 2 : 1;
    case OperationKind::kBarrier:
    case OperationKind::kEventWait:
    case OperationKind::kEventRecord:
    case OperationKind::kOther: return 0;
    default: return -1;
  }
}

bool CommandEvents::read(const OperationView& operation) {
  const int first = arguments_before_events(operation);
  const auto arguments = operation.arguments();
  if (first < 0 || arguments.size() <= static_cast<std::size_t>(first)) {
    return false;
  }
  const std::byte* value = operation.values().data();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i >= static_cast<std::size_t>(first)) {
      ze_event_handle_t event = nullptr;
      std::memcpy(&event, value, sizeof(event));
      if (i == static_cast<std::size_t>(first)) {
        signal = event;
      } else {
        waits.push_back(event);
      }
    }
    value += arguments[i].stored_bytes();
  }
  return true;
}

namespace {

/// Level Zero has 32 bits for most numbers.
std::uint32_t narrow(std::uint64_t number) noexcept {
  return static_cast<std::uint32_t>(number);
}
std::array<std::uint32_t, 3> narrow(const words::Three& numbers) noexcept {
  return {narrow(numbers[0]), narrow(numbers[1]), narrow(numbers[2])};
}

ze_result_t append_kernel(const LevelZeroDriver& driver, const OperationView& operation, ze_command_list_handle_t list,
                          ze_kernel_handle_t kernel, CommandEvents& events) {
  const auto arguments = operation.arguments();
  const auto count = static_cast<std::size_t>(arguments_before_events(operation)) - 1;
  const std::byte* value = operation.values().data();
  for (std::size_t i = 0; i < count; ++i) {
    const bool none = arguments[i].kind == ArgumentKind::kLocalMemory;
    const ze_result_t status = driver.zeKernelSetArgumentValue(kernel, static_cast<std::uint32_t>(i), arguments[i].size,
                                                               none ? nullptr : value);
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
    value += arguments[i].stored_bytes();
  }
  KernelSettings settings;
  std::memcpy(&settings, value, sizeof(settings));
  const auto& shape = operation.as<words::Kernel>();
  const auto [x, y, z] = narrow(shape.local);
  if (x == 0 || y == 0 || z == 0) {  // a layer does not hold such, a capture file may name one
    return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  }
  ze_result_t status = driver.zeKernelSetGroupSize(kernel, x, y, z);
  if (status == ZE_RESULT_SUCCESS && driver.zeKernelSetGlobalOffsetExp != nullptr) {
    const auto offset = narrow(shape.offset);
    status = driver.zeKernelSetGlobalOffsetExp(kernel, offset[0], offset[1], offset[2]);
  }
  if (status == ZE_RESULT_SUCCESS) {
    status = driver.zeKernelSetIndirectAccess(kernel, narrow(settings.indirect));
  }
  if (status == ZE_RESULT_SUCCESS && settings.cache != 0) {
    status = driver.zeKernelSetCacheConfig(kernel, narrow(settings.cache));
  }
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  const auto [groups_x, groups_y, groups_z] = narrow({shape.global[0] / x, shape.global[1] / y, shape.global[2] / z});
  const ze_group_count_t groups = {groups_x, groups_y, groups_z};
  const auto launch = settings.cooperative != 0 ? driver.zeCommandListAppendLaunchCooperativeKernel
                                                : driver.zeCommandListAppendLaunchKernel;
  return launch(list, kernel, &groups, events.signal, static_cast<std::uint32_t>(events.waits.size()),
                events.waits.data());
}

void* pointer(const OperationView& operation, std::size_t index) noexcept {
  return reinterpret_cast<void*>(operation.handle_of(index));
}

ze_result_t append_region(const LevelZeroDriver& driver, const OperationView& operation, ze_command_list_handle_t list,
                          CommandEvents& events) {
  const auto& numbers = operation.as<words::CopyBufferRect>();
  const auto region_at = [&](const words::Three& origin) {
    const auto [x, y, z] = narrow(origin);
    const auto [width, height, depth] = narrow(numbers.region);
    return ze_copy_region_t{x, y, z, width, height, depth};
  };
  const ze_copy_region_t source = region_at(numbers.from_origin);
  const ze_copy_region_t target = region_at(numbers.to_origin);
  return driver.zeCommandListAppendMemoryCopyRegion(
      list, pointer(operation, 1), &target, narrow(numbers.to_row_pitch), narrow(numbers.to_slice_pitch),
      pointer(operation, 0), &source, narrow(numbers.from_row_pitch), narrow(numbers.from_slice_pitch), events.signal,
      static_cast<std::uint32_t>(events.waits.size()), events.waits.data());
}

}  // namespace

ze_result_t append(const LevelZeroDriver& driver, const OperationView& operation, ze_device_handle_t device,
                   ze_command_list_handle_t list, ze_kernel_handle_t kernel) {
  CommandEvents events;
  if (!events.read(operation)) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  const auto count = static_cast<std::uint32_t>(events.waits.size());
  ze_event_handle_t* waits = events.waits.data();
  switch (operation.kind()) {
    case OperationKind::kKernel: return append_kernel(driver, operation, list, kernel, events);
    case OperationKind::kPointerCopy:
      return driver.zeCommandListAppendMemoryCopy(list, pointer(operation, 0), pointer(operation, 1),
                                                  operation.as<words::PointerCopy>().bytes, events.signal, count,
                                                  waits);
    case OperationKind::kPointerFill: {
      const auto pattern = operation.value_of(1);
      return driver.zeCommandListAppendMemoryFill(list, pointer(operation, 0), pattern.data(), pattern.size(),
                                                  operation.as<words::PointerFill>().bytes, events.signal, count,
                                                  waits);
    }
    case OperationKind::kCopyBufferRect: return append_region(driver, operation, list, events);
    case OperationKind::kPointerMigrate: {
      const std::uint64_t bytes = operation.as<words::PointerPrefetch>().bytes;
      if (!is_advice(operation)) {
        return driver.zeCommandListAppendMemoryPrefetch(list, pointer(operation, 0), bytes);
      }
      ze_memory_advice_t advice{};
      std::memcpy(&advice, operation.value_of(1).data(), sizeof(advice));
      return driver.zeCommandListAppendMemAdvise(list, device, pointer(operation, 0), bytes, advice);
    }
    case OperationKind::kBarrier: return driver.zeCommandListAppendBarrier(list, events.signal, count, waits);
    case OperationKind::kEventWait: return driver.zeCommandListAppendWaitOnEvents(list, count, waits);
    case OperationKind::kEventRecord: return driver.zeCommandListAppendSignalEvent(list, events.signal);
    case OperationKind::kOther: return driver.zeCommandListAppendEventReset(list, events.signal);
    default: return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
}

}  // namespace refrain::backends
