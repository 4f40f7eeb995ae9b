// Copies and fills of memory that is known by its address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layer/streams/memory.h"
#include "layer/streams/predicted.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

inline const char* const kPageable = "the copy names pageable host memory, which must not be read late";
inline const char* const kWaitsForBoth = "a copy between devices in the default stream waits for the work of both";
inline const char* const kNotBetweenDevices =
    "copies between devices are not recorded: the runtime may run them on another device, or too early";
inline const char* const kUnknownFill = "the fill is of memory that is no allocation of the driver's, or more than one";

/// Two places between which something is copied.
struct CopyPlaces {
  Place target;
  Place source;

  template <class L>
  static CopyPlaces find(std::uint64_t to, std::size_t to_bytes, std::uint64_t from, std::size_t from_bytes) noexcept {
    return {place_of<L>(to, to_bytes), place_of<L>(from, from_bytes)};
  }
  [[nodiscard]] const char* why_not() const noexcept {
    return target.kind != capture::ArgumentKind::kPointer || source.kind != capture::ArgumentKind::kPointer ? kPageable
                                                                                                            : nullptr;
  }
  [[nodiscard]] bool within_one_device() const noexcept {
    return target.type == backends::MemoryType::kDevice && source.type == backends::MemoryType::kDevice &&
           target.device == source.device;
  }
  [[nodiscard]] bool between_devices() const noexcept {
    return target.type == backends::MemoryType::kDevice && source.type == backends::MemoryType::kDevice &&
           target.device != source.device;
  }
  /// Into pageable memory: done when it returns.
  [[nodiscard]] bool blocks() const noexcept { return !target.known; }
  /// Nodes are for memory of one kind and device.
  [[nodiscard]] Token mixed_into(Token token) const noexcept {
    return mix(token, static_cast<std::uint64_t>(target.type) << 48U | static_cast<std::uint64_t>(source.type) << 32U |
                          (static_cast<std::uint64_t>(target.device) & 0xFFFFU) << 16U |
                          (static_cast<std::uint64_t>(source.device) & 0xFFFFU));
  }
};

/// Before a copy that may be held but for its stream: why that one does not let it. Such a copy comes behind all that
/// was submitted to either device, and what comes next behind it, and a graph with it would not.
template <class L>
const char* why_not_in(const StreamState<typename L::Api>* stream, const CopyPlaces& places) noexcept {
  if (!places.between_devices()) {
    return nullptr;
  }
  if (stream == nullptr || stream->stream.kind != backends::StreamKind::kLegacy) {
    return L::Api::kCopiesBetweenDevices ? nullptr : kNotBetweenDevices;
  }
  if (replay::Engine* const running = L::any_engine(); running != nullptr) {
    running->flush_others();
  }
  return kWaitsForBoth;
}

/// `why_not(places)`: why a copy that is called like this is not held; null: it may be.
template <class L, class Issue, class WhyNot>
StatusOf<L> copy(const replay::EntryPoint& entry_point, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                 typename L::Api::StreamHandle stream, DefaultStream by_default, Issue&& issue,
                 WhyNot&& why_not) noexcept {
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, {stream, by_default}, &status, issue, true)) {
    return status;
  }
  const CopyPlaces places = CopyPlaces::find<L>(to, bytes, from, bytes);
  auto* const found = find_stream<L>(stream, by_default);
  Token token = places.mixed_into(mix(static_cast<Token>(OperationKind::kPointerCopy), bytes));
  const char* const in_stream = why_not_in<L>(found, places);
  const char* const why = places.why_not() != nullptr ? places.why_not()
                          : in_stream != nullptr      ? in_stream
                                                      : why_not(places);
  if (found != nullptr && bytes != 0 && why == nullptr && found->copies.note(token, current_stretch())) {
    token = places.mixed_into(static_cast<Token>(OperationKind::kPointerCopy));
  }
  const Call call{entry_point, OperationKind::kPointerCopy, token, why, places.blocks()};
  return submit<L>(
      call, found,
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerCopy, whole);
        writer.words(capture::words::PointerCopy{.bytes = bytes, .blocking = call.blocks ? 1U : 0U});
        writer.argument_handle(places.target.kind, places.target.id, to);
        writer.argument_handle(places.source.kind, places.source.id, from);
        writer.finish();
      },
      issue);
}

template <class L, class Issue>
StatusOf<L> copy(const replay::EntryPoint& entry_point, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                 typename L::Api::StreamHandle stream, DefaultStream by_default, Issue&& issue) noexcept {
  return copy<L>(entry_point, to, from, bytes, stream, by_default, issue,
                 [](const CopyPlaces& /*places*/) -> const char* { return nullptr; });
}

/// With `count` values.
template <class L, class Value, class Issue>
StatusOf<L> fill(const replay::EntryPoint& entry_point, std::uint64_t to, Value value, std::size_t count,
                 typename L::Api::StreamHandle stream, DefaultStream by_default, Issue&& issue) noexcept {
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, {stream, by_default}, &status, issue)) {
    return status;
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&value, 1));
  const Place target = filled_place<L>(to, count * sizeof(value));
  if (StatusOf<L> status = L::Api::kSuccess;
      target.kind == capture::ArgumentKind::kPointer && predicts() &&
      hold_predicted_fill<L>({to, target.id, bytes, count * sizeof(value)}, stream, by_default, &status)) {
    return status;
  }
  const Call call{entry_point, OperationKind::kPointerFill,
                  mix(mix(static_cast<Token>(OperationKind::kPointerFill), count), sizeof(value)),
                  target.kind != capture::ArgumentKind::kPointer ? kUnknownFill : nullptr};
  return submit<L>(
      call, find_stream<L>(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerFill, whole);
        writer.words(capture::words::PointerFill{.bytes = count * sizeof(value)});
        writer.argument_handle(capture::ArgumentKind::kPointer, target.id, to);
        writer.argument(capture::ArgumentKind::kValue, 0, bytes);
        writer.finish();
      },
      issue);
}

}  // namespace refrain::layer::streams
