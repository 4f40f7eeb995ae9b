// Host calls and submissions of APIs with streams: what layer/common asks of them.
#pragma once

#include "layer/common/host_call.h"
#include "layer/streams/objects.h"
#include "layer/streams/proxy_stream.h"

namespace refrain::layer::streams {

/// See layer/common/host_call.h; L is described in objects.h.
template <class L>
struct Protocol : common::PlainProtocol {
  using Api = typename L::Api;
  using Status = typename Api::Status;
  static constexpr Status kSuccess = Api::kSuccess;

  static replay::Engine* engine() noexcept { return L::engine(); }
  static replay::Engine* any_engine() noexcept { return L::any_engine(); }
  static capture::Recorder* recorder() noexcept { return L::runtime().recorder; }
  static bool flushed_may_call() noexcept { return ProxyStreams<Api>::in_use != nullptr; }
  static void flushed(bool submits) noexcept {
    if (submits) {
      leave_proxy<L>();
    }
  }
  static void waited() noexcept { ProxyStreams<Api>::waited = true; }
  static void answer(Status own, Status reported) noexcept {
    if (reported != own) [[unlikely]] {
      L::on_held_error(reported);
    } else if (own == kSuccess) {
      L::on_success();
    }
  }
};

template <class L>
using HostCall = common::HostCall<Protocol<L>>;

template <class L>
[[nodiscard]] replay::Engine* engine_with_threads() noexcept {
  return common::engine_with_threads<L>();
}

/// For HOST stubs.
template <class L>
void flush_for_stub(const replay::EntryPoint& entry_point) noexcept {
  common::flush_for_stub<Protocol<L>>(entry_point);
}

}  // namespace refrain::layer::streams
