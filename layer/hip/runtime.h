// The HIP layer at work: the runtime's functions, the engine, and what every wrapper needs.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>

#include "backends/hip/hip_backend.h"
#include "layer/interpose/stub_table.h"
#include "layer/streams/host_call.h"
#include "layer/streams/objects.h"
#include "layer/streams/stream_table.h"
#include "replay/engine.h"

namespace refrain::layer::hip {

using Runtime = streams::StreamRuntime<backends::HipApi>;
using StreamState = streams::StreamState<backends::HipApi>;
using EventState = streams::EventState<backends::HipApi>;
using streams::DefaultStream;
using streams::FunctionState;

extern constinit Runtime runtime;
static_assert(std::is_trivially_destructible_v<Runtime>);
extern streams::Objects<backends::HipApi>& objects;

/// Asks the runtime for its version, and starts the engine if that is new enough; otherwise everything passes through
/// from now on. Not when the library is loaded: constructors of programs with kernels already call it, and asking for
/// the version starts the device. Null if there is no engine.
replay::Engine* start_engine() noexcept;

extern std::atomic<bool> undecided;  ///< start_engine() was not called yet

/// The engine if it is at work; null: pass everything through.
[[nodiscard]] inline replay::Engine* engine() noexcept {
  replay::Engine* found = runtime.engine.load(std::memory_order_acquire);
  if (found == nullptr && undecided.load(std::memory_order_relaxed)) [[unlikely]] {
    found = start_engine();
  }
  return common::at_work(found);
}

/// Nothing is held any more; the reason goes to the log.
void give_up(const char* why) noexcept;

/// Nothing is started later either.
void stay_out() noexcept;

/// What the templates of layer/streams need to know of this layer.
struct HipLayer {
  using Api = backends::HipApi;
  static Runtime& runtime() noexcept { return hip::runtime; }
  static replay::Engine* engine() noexcept { return hip::engine(); }
  static replay::Engine* any_engine() noexcept { return hip::runtime.engine.load(std::memory_order_acquire); }
  static streams::Objects<Api>& objects() noexcept { return hip::objects; }
  static interpose::StubTable& stubs() noexcept;
  static void notify_recorder(const StreamState& stream, const replay::EntryPoint& entry_point,
                              const capture::OperationView& operation) noexcept;
  static void on_hold(hipError_t status) noexcept;
  static void on_held_error(hipError_t status) noexcept;
  static void on_success() noexcept;
  static bool is_stream(const backends::Stream<Api>& known, hipStream_t handle, DefaultStream by_default) noexcept;
  static bool describe(backends::Stream<Api>& stream, hipStream_t handle, backends::StreamKind kind) noexcept;
  static std::uint64_t default_stream_key(hipStream_t handle, DefaultStream by_default) noexcept;
  static int current_context() noexcept;  ///< the current device; -1: none
  static std::uint64_t context_number(int device) noexcept;
  static replay::LayerHooks::Device device_of(int device);
  static ObjectId device_id(int device, ObjectId otherwise);
  static void forget_functions(std::uint64_t module) noexcept;
  static void forget_contexts() noexcept;
  static const streams::FunctionState* function_of(capture::Handle handle) noexcept;
  /// The address of a stub and a hipFunction_t may be one kernel's.
  [[nodiscard]] static bool has_one_handle(capture::Handle /*function*/) noexcept { return false; }
  /// Nodes are not given other kernels.
  static void find_limits(streams::FunctionState& /*function*/, capture::Handle /*handle*/) noexcept {}
  static std::string name_of_function(capture::FunctionId function) noexcept;
  [[nodiscard]] static bool describe_memory(std::uint64_t address, backends::LiveMemory* found) noexcept;
  static void ask_variables_again() noexcept {}  // they are asked for each time
};

using HostCall = streams::HostCall<HipLayer>;

/// The record of a stream; made on first sight. Null if it cannot be known (an invalid handle).
[[nodiscard]] inline StreamState* find_stream(hipStream_t handle, DefaultStream by_default) noexcept {
  return streams::find_stream<HipLayer>(handle, by_default);
}

}  // namespace refrain::layer::hip
