// Submissions that are known beforehand: see replay::Lane::expected(). Those of kernels are in launch.h.
#pragma once

#include <cstring>
#include <span>

#include "layer/streams/stream_table.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

/// True while the calling thread's lane expects something: a reason to call hold_expected() or hold_expected_fill().
[[nodiscard, gnu::always_inline]] inline bool expects() noexcept {
  const replay::Lane* const lane = replay::Lane::current;
  return lane != nullptr && lane->expected();
}

/// True if the record is one of a fill, and exactly of this one; `bytes` are filled in all. The allocation need not be
/// looked up: graphs that name one that went are not expected any more.
[[nodiscard]] inline bool is_same_fill(const capture::OperationView& known, Handle to, std::span<const std::byte> value,
                                       std::uint64_t bytes) noexcept {
  if (known.kind() != OperationKind::kPointerFill || known.words()[0] != bytes || known.handle_of(0) != to) {
    return false;
  }
  const std::span<const std::byte> known_value = known.value_of(1);
  return known_value.size() == value.size() && std::memcmp(known_value.data(), value.data(), value.size()) == 0;
}

/// True if the fill is exactly the one that the calling thread's lane expects, and is held now: nothing else has to be
/// found out about it. To be called when short_way() said to go on.
template <class L>
[[nodiscard, gnu::noinline]] bool hold_expected_fill(Handle to, std::span<const std::byte> value, std::uint64_t bytes,
                                                     typename L::Api::StreamHandle stream, DefaultStream by_default,
                                                     StatusOf<L>* status) noexcept {
  replay::Lane& lane = *replay::Lane::current;
  const capture::OperationView known = lane.expected();
  int error = 0;
  if (!known || !is_same_fill(known, to, value, bytes) ||
      !L::is_stream(backends::Stream<typename L::Api>::of(known.header().queue_handle), stream, by_default) ||
      !lane.hold_expected(&error)) {
    return false;
  }
  *status = static_cast<StatusOf<L>>(error);
  L::on_hold(*status);
  return true;
}

}  // namespace refrain::layer::streams
