// Submissions that are known beforehand: see replay::Lane::predicted(). Those of kernels are in launch.h.
#pragma once

#include <cstring>
#include <span>

#include "layer/streams/stream_table.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

/// True while the calling thread's lane expects something: a reason to call hold_predicted() or hold_predicted_fill(),
/// before anything else. (The lane is not dormant then, and knows whether anything may be held.)
[[nodiscard, gnu::always_inline]] inline bool predicts() noexcept {
  const replay::Lane* const lane = replay::Lane::current;
  return lane != nullptr && lane->predicted();
}

/// A fill of memory that was found (filled_place()); `bytes` in all.
struct Fill {
  Handle to;
  capture::ObjectId allocation;
  std::span<const std::byte> value;
  std::uint64_t bytes;
};

/// True if the record is one of a fill, and exactly of this one. Its allocation as well: where memory was freed and
/// comes again at the same address, a node that was made for what was there before must not be launched.
[[nodiscard]] inline bool is_same_fill(const capture::OperationView& known, const Fill& fill) noexcept {
  if (known.kind() != OperationKind::kPointerFill || known.as<capture::words::PointerFill>().bytes != fill.bytes ||
      known.arguments()[0].object != fill.allocation || known.handle_of(0) != fill.to) {
    return false;
  }
  const std::span<const std::byte> value = known.value_of(1);
  return value.size() == fill.value.size() && std::memcmp(value.data(), fill.value.data(), value.size()) == 0;
}

/// True if the fill is exactly the one that the calling thread's lane expects, and is held now: nothing else has to be
/// found out about it.
template <class L>
[[nodiscard, gnu::hot, gnu::noinline]] bool hold_predicted_fill(const Fill& fill, typename L::Api::StreamHandle stream,
                                                                DefaultStream by_default,
                                                                StatusOf<L>* status) noexcept {
  replay::Lane& lane = *replay::Lane::current;
  const capture::OperationView known = lane.fetch_predicted();
  int error = 0;
  if (!known || !is_same_fill(known, fill) ||
      !L::is_stream(backends::Stream<typename L::Api>::of(known.header().queue_handle), stream, by_default) ||
      !lane.hold_predicted(&error)) {
    return false;
  }
  *status = static_cast<StatusOf<L>>(error);
  L::on_hold(*status);
  return true;
}

}  // namespace refrain::layer::streams
