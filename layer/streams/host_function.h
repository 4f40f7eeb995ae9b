// Functions of the program that are called in the order of a stream.
#pragma once

#include "layer/streams/submission.h"

namespace refrain::layer::streams {

/// The host may look at memory for what the function does, and call nobody meanwhile: so it is the last of what is
/// held, and leaves with its own call.
template <class L, class Issue>
StatusOf<L> host_function(const replay::EntryPoint& entry_point, void (*function)(void*), void* data,
                          typename L::Api::StreamHandle stream, DefaultStream by_default, Issue&& issue) noexcept {
  const NotCancelled during(true);
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, {stream, by_default}, &status, issue)) {
    return status;
  }
  static constinit FirstUses names;
  const replay::Engine* const running = L::any_engine();
  const bool compared = running != nullptr && running->settings().mode == env::Mode::kVerify;
  Call call{
      entry_point, OperationKind::kHostFunction,
      mix(static_cast<Token>(OperationKind::kHostFunction), names.number_of(reinterpret_cast<std::uint64_t>(function))),
      compared                                           ? "a host function cannot be called twice to compare"
      : function == nullptr                              ? "the driver is to refuse it"
      : running != nullptr && running->anything_trails() ? kBehindFree
                                                         : nullptr};
  call.ends = true;
  return submit<L>(
      call, find_stream<L>(stream, by_default),
      [&](capture::OperationWriter& writer, Token token, bool) {
        writer.begin(OperationKind::kHostFunction, token);
        writer.argument_handle(capture::ArgumentKind::kHostPointer, 0, reinterpret_cast<std::uint64_t>(function));
        writer.argument_handle(capture::ArgumentKind::kHostPointer, 0, reinterpret_cast<std::uint64_t>(data));
        writer.finish();
      },
      issue);
}

}  // namespace refrain::layer::streams
