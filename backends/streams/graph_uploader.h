// How graphs are brought to the device ahead of their first launch, where nothing more than a call is needed.
#pragma once

#include <span>

#include "backends/exclusive_call_yield.h"

namespace refrain::backends {

/// Of one context; its stream goes with that. Not thread-safe.
template <class Api>
class StreamGraphUploader {
 public:
  /// Before the graph is made that is to be uploaded; and what of it is to be done at an IdleMoment.
  void prepare(const typename Api::Driver& /*driver*/, ExclusiveCallYield& /*exclusive_call_yield*/) noexcept {}
  void instantiate(const typename Api::Driver& /*driver*/, ExclusiveCallYield& /*exclusive_call_yield*/) noexcept {}
  /// Begins to upload; the context must be current. To be followed by wait(), whatever the result.
  typename Api::Status upload(const typename Api::Driver& driver, std::span<const typename Api::ExecHandle> executables,
                              ExclusiveCallYield& exclusive_call_yield) noexcept {
    const ExclusiveCallYield::Claim claim(exclusive_call_yield);
    if (stream_ == nullptr) {
      const typename Api::Status status = Api::create_stream(driver, &stream_);
      if (status != Api::kSuccess) {
        stream_ = nullptr;
        return status;
      }
    }
    typename Api::Status status = Api::kSuccess;
    for (const typename Api::ExecHandle executable : executables) {
      const typename Api::Status each = Api::upload(driver, executable, stream_);
      status = status != Api::kSuccess ? status : each;
    }
    return status;
  }
  /// True if wait() would not wait: what was uploaded is there, or never will be.
  [[nodiscard]] bool done(const typename Api::Driver& driver) const noexcept {
    return stream_ == nullptr || Api::query_stream(driver, stream_) != Api::kNotReady;
  }
  /// Until it is there. Waits for nothing if there was no stream to be had: that would be the program's default stream.
  typename Api::Status wait(const typename Api::Driver& driver, ExclusiveCallYield& /*exclusive_call_yield*/) noexcept {
    return stream_ == nullptr ? Api::kSuccess : Api::synchronize(driver, stream_);
  }

  /// Before the context is destroyed, with what is the context's.
  void context_gone(const typename Api::Driver& /*driver*/) noexcept {}

 private:
  typename Api::StreamHandle stream_ = nullptr;
};

}  // namespace refrain::backends
