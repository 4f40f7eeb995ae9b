// Commands other than launches.

#include <span>

#include "layer/level_zero/submission.h"

namespace refrain::layer::level_zero {
namespace {

using capture::ArgumentKind;
namespace words = capture::words;

const char* const kPageable = "it names memory that the driver did not allocate, which must not be read late";
const char* const kImage = "copies of images are not recorded";

/// What a pointer of a copy is: kPointer with the allocation's id, if all the bytes lie in it.
struct Target {
  ArgumentKind kind = ArgumentKind::kHostPointer;
  ObjectId id = 0;
  capture::MemoryPlace place = capture::MemoryPlace::kDevice;
};
Target target_of(const void* pointer, std::size_t bytes) noexcept {
  const std::uint64_t address = handle_of(pointer);
  const Place place = memory_at(address);
  return place.id != 0 && bytes <= place.bytes - (address - place.start)
             ? Target{ArgumentKind::kPointer, place.id, place.kind}
             : Target{};
}

/// The bytes from the first to the last of a region, where rows and slices are so far apart.
std::size_t extent(const ze_copy_region_t& region, std::uint32_t pitch, std::uint32_t slice) noexcept {
  const std::size_t first = region.originX + std::size_t{region.originY} * pitch + std::size_t{region.originZ} * slice;
  const std::size_t rows = region.height == 0 ? 0 : region.height - 1;
  const std::size_t slices = region.depth == 0 ? 0 : region.depth - 1;
  return first + rows * pitch + slices * slice + region.width;
}

}  // namespace

namespace {

template <class Issue>
ze_result_t append_copy(Call call, void* to, const void* from, std::size_t bytes, Issue&& issue) noexcept {
  const Target target = target_of(to, bytes);
  const Target source = target_of(from, bytes);
  call.token = mix(static_cast<Token>(OperationKind::kPointerCopy), bytes);
  if (target.id == 0 || source.id == 0) {
    call.unholdable = kPageable;
  }
  return submit(
      call,
      [&](capture::OperationWriter& writer, Token token) {
        writer.begin(OperationKind::kPointerCopy, token);
        writer.words(words::PointerCopy{.bytes = bytes, .blocking = 0});
        writer.argument_handle(target.kind, target.id, handle_of(to));
        writer.argument_handle(source.kind, source.id, handle_of(from));
      },
      issue);
}

template <class Issue>
ze_result_t append_fill(Call call, void* to, const void* pattern, std::size_t width, std::size_t bytes,
                        Issue&& issue) noexcept {
  const Target target = target_of(to, bytes);
  call.token = mix(mix(static_cast<Token>(OperationKind::kPointerFill), bytes), width);
  constexpr std::size_t kWidest = 4096;
  if (target.id == 0) {
    call.unholdable = kPageable;
  } else if (pattern == nullptr || width == 0 || width > kWidest) {
    call.unholdable = "it is a wrong call";
  }
  return submit(
      call,
      [&](capture::OperationWriter& writer, Token token) {
        writer.begin(OperationKind::kPointerFill, token);
        writer.words(words::PointerFill{.bytes = bytes});
        writer.argument_handle(target.kind, target.id, handle_of(to));
        const bool readable = pattern != nullptr && width <= kWidest;
        writer.argument(ArgumentKind::kValue, 0,
                        {static_cast<const std::byte*>(pattern), readable ? width : std::size_t{0}});
      },
      issue);
}

}  // namespace

ze_result_t wrap::zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to, const void* from, size_t bytes,
                                                ze_event_handle_t signal, uint32_t count,
                                                ze_event_handle_t* waits) noexcept {
  return append_copy({entry::zeCommandListAppendMemoryCopy, OperationKind::kPointerCopy, list, signal, count, waits},
                     to, from, bytes,
                     [&] { return next.zeCommandListAppendMemoryCopy(list, to, from, bytes, signal, count, waits); });
}

ze_result_t wrap::zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list, void* to, const void* from,
                                                              size_t bytes, const void* more, ze_event_handle_t signal,
                                                              uint32_t count, ze_event_handle_t* waits) noexcept {
  const Call call{
      entry::zeCommandListAppendMemoryCopyWithParameters, OperationKind::kPointerCopy, list, signal, count, waits};
  const auto issue = [&] {
    return next.zeCommandListAppendMemoryCopyWithParameters(list, to, from, bytes, more, signal, count, waits);
  };
  return more != nullptr ? submit_unheld(call, kMoreParameters, issue) : append_copy(call, to, from, bytes, issue);
}

ze_result_t wrap::zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void* to, const void* pattern,
                                                size_t width, size_t bytes, ze_event_handle_t signal, uint32_t count,
                                                ze_event_handle_t* waits) noexcept {
  return append_fill({entry::zeCommandListAppendMemoryFill, OperationKind::kPointerFill, list, signal, count, waits},
                     to, pattern, width, bytes, [&] {
                       return next.zeCommandListAppendMemoryFill(list, to, pattern, width, bytes, signal, count, waits);
                     });
}

ze_result_t wrap::zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list, void* to,
                                                              const void* pattern, size_t width, size_t bytes,
                                                              const void* more, ze_event_handle_t signal,
                                                              uint32_t count, ze_event_handle_t* waits) noexcept {
  const Call call{
      entry::zeCommandListAppendMemoryFillWithParameters, OperationKind::kPointerFill, list, signal, count, waits};
  const auto issue = [&] {
    return next.zeCommandListAppendMemoryFillWithParameters(list, to, pattern, width, bytes, more, signal, count,
                                                            waits);
  };
  return more != nullptr ? submit_unheld(call, kMoreParameters, issue)
                         : append_fill(call, to, pattern, width, bytes, issue);
}

ze_result_t wrap::zeCommandListAppendHostFunction(ze_command_list_handle_t list, void (*function)(void*), void* data,
                                                  const void* more, ze_event_handle_t signal, uint32_t count,
                                                  ze_event_handle_t* waits) noexcept {
  const ze_result_t status = submit_unheld(
      {entry::zeCommandListAppendHostFunction, OperationKind::kHostFunction, list, signal, count, waits},
      "functions of the host are not recorded",
      [&] { return next.zeCommandListAppendHostFunction(list, function, data, more, signal, count, waits); });
  // It may wait for what comes after it, where nothing orders them; what brings a recorded list into its place does.
  if (ListState* known = objects.lists.find(handle_of(list));
      known != nullptr && known->immediate && !known->list.in_order) {
    known->unholdable = "its command list has no order, and functions of the host in it";
  }
  return status;
}

ze_result_t wrap::zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t list, void* to,
                                                      const ze_copy_region_t* place, uint32_t pitch, uint32_t slice,
                                                      const void* from, const ze_copy_region_t* part,
                                                      uint32_t part_pitch, uint32_t part_slice,
                                                      ze_event_handle_t signal, uint32_t count,
                                                      ze_event_handle_t* waits) noexcept {
  const auto issue = [&] {
    return next.zeCommandListAppendMemoryCopyRegion(list, to, place, pitch, slice, from, part, part_pitch, part_slice,
                                                    signal, count, waits);
  };
  Call call{entry::zeCommandListAppendMemoryCopyRegion, OperationKind::kCopyBufferRect, list, signal, count, waits};
  if (place == nullptr || part == nullptr || place->width != part->width || place->height != part->height ||
      place->depth != part->depth) {
    return submit_unheld(call, "it is a wrong call", issue);
  }
  const Target target = target_of(to, extent(*place, pitch, slice));
  const Target source = target_of(from, extent(*part, part_pitch, part_slice));
  const words::CopyBufferRect numbers = {.from_origin = {part->originX, part->originY, part->originZ},
                                         .to_origin = {place->originX, place->originY, place->originZ},
                                         .region = {place->width, place->height, place->depth},
                                         .from_row_pitch = part_pitch,
                                         .from_slice_pitch = part_slice,
                                         .to_row_pitch = pitch,
                                         .to_slice_pitch = slice};
  call.token = static_cast<Token>(OperationKind::kCopyBufferRect);
  for (const std::uint64_t word : words::in_order(numbers)) {
    call.token = mix(call.token, word);
  }
  if (target.id == 0 || source.id == 0) {
    call.unholdable = kPageable;
  }
  return submit(
      call,
      [&](capture::OperationWriter& writer, Token token) {
        writer.begin(OperationKind::kCopyBufferRect, token);
        writer.words(numbers);
        writer.argument_handle(source.kind, source.id, handle_of(from));
        writer.argument_handle(target.kind, target.id, handle_of(to));
      },
      issue);
}

ze_result_t wrap::zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t list, const void* memory,
                                                    size_t bytes) noexcept {
  const Target target = target_of(memory, bytes);
  Call call{entry::zeCommandListAppendMemoryPrefetch, OperationKind::kPointerMigrate, list};
  call.token = mix(static_cast<Token>(OperationKind::kPointerMigrate), bytes);
  if (target.id == 0) {
    call.unholdable = kPageable;
  }
  return submit(
      call,
      [&](capture::OperationWriter& writer, Token token) {
        writer.begin(OperationKind::kPointerMigrate, token);
        writer.words(words::PointerPrefetch{.bytes = bytes});
        writer.argument_handle(target.kind, target.id, handle_of(memory));
      },
      [&] { return next.zeCommandListAppendMemoryPrefetch(list, memory, bytes); });
}

ze_result_t wrap::zeCommandListAppendMemAdvise(ze_command_list_handle_t list, ze_device_handle_t device,
                                               const void* memory, size_t bytes, ze_memory_advice_t advice) noexcept {
  const Target target = target_of(memory, bytes);
  Call call{entry::zeCommandListAppendMemAdvise, OperationKind::kPointerMigrate, list};
  // Whether the driver takes it depends on the kind of memory.
  call.token = mix(mix(mix(static_cast<Token>(OperationKind::kPointerMigrate), bytes), advice),
                   static_cast<std::uint64_t>(target.place) + 1);
  const ListState* const known = objects.lists.find(handle_of(list));
  if (target.id == 0) {
    call.unholdable = kPageable;
  } else if (known == nullptr || known->list.device != device) {
    call.unholdable = "it is advice for another device than its command list's";
  }
  return submit(
      call,
      [&](capture::OperationWriter& writer, Token token) {
        writer.begin(OperationKind::kPointerMigrate, token);
        writer.words(words::PointerPrefetch{.bytes = bytes});
        writer.argument_handle(target.kind, target.id, handle_of(memory));
        writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&advice, 1)));
      },
      [&] { return next.zeCommandListAppendMemAdvise(list, device, memory, bytes, advice); });
}

namespace {

/// Commands with nothing but events.
template <class Issue>
ze_result_t only_events(Call call, Issue&& issue) noexcept {
  call.token = static_cast<Token>(call.kind);
  return submit(
      call, [&](capture::OperationWriter& writer, Token token) { writer.begin(call.kind, token); }, issue);
}

}  // namespace

ze_result_t wrap::zeCommandListAppendBarrier(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t count,
                                             ze_event_handle_t* waits) noexcept {
  Call call{entry::zeCommandListAppendBarrier, OperationKind::kBarrier, list, signal, count, waits};
  call.orders_everything = count == 0;
  return only_events(call, [&] { return next.zeCommandListAppendBarrier(list, signal, count, waits); });
}

ze_result_t wrap::zeCommandListAppendWaitOnEvents(ze_command_list_handle_t list, uint32_t count,
                                                  ze_event_handle_t* waits) noexcept {
  return only_events({entry::zeCommandListAppendWaitOnEvents, OperationKind::kEventWait, list, nullptr, count, waits},
                     [&] { return next.zeCommandListAppendWaitOnEvents(list, count, waits); });
}

ze_result_t wrap::zeCommandListAppendSignalEvent(ze_command_list_handle_t list, ze_event_handle_t event) noexcept {
  return only_events({entry::zeCommandListAppendSignalEvent, OperationKind::kEventRecord, list, event},
                     [&] { return next.zeCommandListAppendSignalEvent(list, event); });
}

ze_result_t wrap::zeCommandListAppendEventReset(ze_command_list_handle_t list, ze_event_handle_t event) noexcept {
  Call call{entry::zeCommandListAppendEventReset, OperationKind::kOther, list};
  call.reset = event;
  return only_events(call, [&] { return next.zeCommandListAppendEventReset(list, event); });
}

// Counted, but never held.
#define UNHELD(name, why, parameters, arguments)                                                  \
  ze_result_t wrap::name parameters noexcept {                                                    \
    return submit_unheld({entry::name, OperationKind::kUnknown, list, signal, count, waits}, why, \
                         [&] { return next.name arguments; });                                    \
  }
UNHELD(zeCommandListAppendMemoryRangesBarrier, "barriers for ranges of memory are not recorded",
       (ze_command_list_handle_t list, uint32_t ranges, const size_t* sizes, const void** starts,
        ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits),
       (list, ranges, sizes, starts, signal, count, waits))
UNHELD(zeCommandListAppendWriteGlobalTimestamp, "it writes the time at which it runs",
       (ze_command_list_handle_t list, uint64_t* to, ze_event_handle_t signal, uint32_t count,
        ze_event_handle_t* waits),
       (list, to, signal, count, waits))
UNHELD(zeCommandListAppendQueryKernelTimestamps, "it writes the times of events",
       (ze_command_list_handle_t list, uint32_t event_count, ze_event_handle_t* events, void* to, const size_t* offsets,
        ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits),
       (list, event_count, events, to, offsets, signal, count, waits))
UNHELD(zeCommandListAppendImageCopy, kImage,
       (ze_command_list_handle_t list, ze_image_handle_t to, ze_image_handle_t from, ze_event_handle_t signal,
        uint32_t count, ze_event_handle_t* waits),
       (list, to, from, signal, count, waits))
UNHELD(zeCommandListAppendImageCopyRegion, kImage,
       (ze_command_list_handle_t list, ze_image_handle_t to, ze_image_handle_t from, const ze_image_region_t* place,
        const ze_image_region_t* part, ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits),
       (list, to, from, place, part, signal, count, waits))
UNHELD(zeCommandListAppendImageCopyToMemory, kImage,
       (ze_command_list_handle_t list, void* to, ze_image_handle_t from, const ze_image_region_t* part,
        ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits),
       (list, to, from, part, signal, count, waits))
UNHELD(zeCommandListAppendImageCopyFromMemory, kImage,
       (ze_command_list_handle_t list, ze_image_handle_t to, const void* from, const ze_image_region_t* place,
        ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits),
       (list, to, from, place, signal, count, waits))
#undef UNHELD

}  // namespace refrain::layer::level_zero
