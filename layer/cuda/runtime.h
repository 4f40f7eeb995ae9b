// The CUDA layer at work: the driver's functions, the engine, and what every wrapper needs.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>

#include "backends/cuda/cuda_backend.h"
#include "layer/interpose/stub_table.h"
#include "layer/streams/host_call.h"
#include "layer/streams/objects.h"
#include "layer/streams/stream_table.h"
#include "replay/engine.h"

namespace refrain::layer::cuda {

using Runtime = streams::StreamRuntime<backends::CudaApi>;
extern constinit Runtime runtime;
static_assert(std::is_trivially_destructible_v<Runtime>);

/// The engine if it is at work; null: pass everything through.
[[nodiscard]] inline replay::Engine* engine() noexcept {
  return common::at_work(runtime.engine.load(std::memory_order_acquire));
}

/// Starts the engine; called when the driver was loaded, before any call of the application reaches it. May throw.
void start_engine();

/// Nothing is held any more; the reason goes to the log.
void give_up(const char* why) noexcept;

/// What the templates of layer/streams need to know of this layer.
struct CudaLayer {
  using Api = backends::CudaApi;
  static Runtime& runtime() noexcept { return cuda::runtime; }
  static replay::Engine* engine() noexcept { return cuda::engine(); }
  static replay::Engine* any_engine() noexcept { return cuda::runtime.engine.load(std::memory_order_acquire); }
  static streams::Objects<Api>& objects() noexcept;
  static interpose::StubTable& stubs() noexcept;
  static void notify_recorder(const streams::StreamState<Api>& stream, const replay::EntryPoint& entry_point,
                              const capture::OperationView& operation) noexcept;
  static void on_hold(CUresult /*status*/) noexcept {}
  static void on_held_error(CUresult /*status*/) noexcept {}
  static void on_success() noexcept {}
  static bool is_stream(const backends::CudaStream& known, CUstream handle,
                        streams::DefaultStream by_default) noexcept {
    return reinterpret_cast<std::uintptr_t>(handle) > streams::kDefaultHandles
               ? known.handle == handle
               : is_default_stream(known, handle, by_default);
  }
  static bool is_default_stream(const backends::CudaStream& known, CUstream handle,
                                streams::DefaultStream by_default) noexcept;
  static bool describe(backends::CudaStream& stream, CUstream handle, backends::StreamKind kind) noexcept;
  static std::uint64_t default_stream_key(CUstream handle, streams::DefaultStream by_default) noexcept;
  static CUcontext current_context() noexcept;
  static std::uint64_t context_number(CUcontext context) noexcept;
  static replay::LayerHooks::Device device_of(CUcontext context);
  static ObjectId device_id(CUcontext context, ObjectId otherwise);
  static void forget_functions(std::uint64_t module) noexcept;
  static void forget_contexts() noexcept;
  static const streams::FunctionState* function_of(capture::Handle handle) noexcept;
  [[nodiscard]] static bool has_one_handle(capture::Handle function) noexcept;
  static void find_limits(streams::FunctionState& function, capture::Handle handle) noexcept;
  static std::string name_of_function(capture::FunctionId function) noexcept;
  /// Of memory that is mapped, and that no device may use yet, it tells more than is mapped.
  [[nodiscard]] static bool describe_memory(std::uint64_t address, backends::LiveMemory* found) noexcept;
  static void ask_variables_again() noexcept;
  /// See layer/streams/ordered_memory.h, and NamedMemory::freed_in_order().
  static CUresult free_in_order(std::uint64_t address, CUstream stream) noexcept;
  static std::uint64_t id_to_free(std::uint64_t /*address*/) noexcept { return 0; }
  class WithoutPoolWaits;
};

/// As long as it lives, no allocation from the pool (null: the current one of the context's device) waits for a free in
/// another stream.
class CudaLayer::WithoutPoolWaits {
 public:
  WithoutPoolWaits(const std::uint64_t* pool, CUcontext context) noexcept;
  ~WithoutPoolWaits();
  WithoutPoolWaits(const WithoutPoolWaits&) = delete;
  WithoutPoolWaits& operator=(const WithoutPoolWaits&) = delete;

 private:
  CUmemoryPool pool_ = nullptr;  ///< null: it has none anyway
};

using HostCall = streams::HostCall<CudaLayer>;

}  // namespace refrain::layer::cuda
