// Stubs for functions that programs get the address of: those of tables, of extensions, and those that nobody knew when
// this was built. While stubs are watching, each calls a hook with its function's name; then it jumps to the function
// with untouched arguments. The stubs know no signatures.
//
// Stubs of functions that programs are linked with are exported by a starter (stub_table.h).
#pragma once

#include <cstdint>

#include "layer/interpose/host_stub_count.h"
#include "replay/queue_slot.h"

namespace refrain::layer::interpose {

/// Called by stubs while they watch, with the function's name. May be called on any thread and while another call of it
/// runs.
using HostCallHook = void (*)(const replay::EntryPoint& entry_point) noexcept;

/// Called by a stub with its number and the return address of the call; tells where to go.
using StubCall = void* (*)(std::uint32_t index, std::uint64_t caller) noexcept;

/// All of a layer: there is one set in each library of ours. Thread-safe.
class HostStubs {
 public:
  static constexpr std::uint32_t kCount = REFRAIN_HOST_STUBS;

  /// What programs are given in place of the function.
  [[nodiscard]] static void* address(std::uint32_t index) noexcept;
  /// Where stub `index` leads, and how that is called in explanations (kept as it is).
  static void set(std::uint32_t index, void* function, const char* name) noexcept;
  [[nodiscard]] static void* target(std::uint32_t index) noexcept;
  [[nodiscard]] static const replay::EntryPoint& entry_point(std::uint32_t index) noexcept;

  /// Whether stubs call anybody. Off until somebody sets it.
  static void set_watching(bool watching) noexcept;
  /// Whom they call, unless replace_call() was called; null: nobody.
  static void set_hook(HostCallHook hook) noexcept;
  /// For layers that look at more than the name. Before stubs watch.
  static void replace_call(StubCall call) noexcept;

  /// Calls the hook, if there is one; errno stays as it is.
  static void call_hook(const replay::EntryPoint& entry_point) noexcept;
};

}  // namespace refrain::layer::interpose
