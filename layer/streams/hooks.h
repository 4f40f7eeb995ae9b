// What the engine asks of the layer of an API with streams.
#pragma once

#include "layer/control.h"
#include "layer/start_up.h"
#include "layer/streams/objects.h"
#include "layer/streams/past_streams.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// L has, besides what objects.h lists, name_of_function(id), and device_of(context): LayerHooks::device_of().
template <class L>
class Hooks final : public replay::LayerHooks {
 public:
  using Api = typename L::Api;

  /// The application's events are recorded by the backend, like everything else.
  void fulfil(const capture::OperationView& /*operation*/, backends::Event /*event*/,
              int /*status*/) noexcept override {}

  /// Nothing can be retained. The backend refuses to record what is gone, and whoever destroys something waits until
  /// nothing is being recorded.
  bool retain_objects(const capture::OperationView& /*operation*/) noexcept override { return true; }
  void release_objects(const capture::OperationView& /*operation*/) noexcept override {}

  const char* why_not_all_queues() noexcept override { return PastStreams<L>::all().why_not_all(); }

  /// While the program captures a stream, what is held may belong to that.
  bool may_hold() noexcept override { return L::runtime().captures.load(std::memory_order_relaxed) == 0; }

  bool is_current(const capture::OperationView& operation) noexcept override {
    const capture::OperationHeader& header = operation.header();
    std::uint64_t state = backends::Stream<Api>::of(header.queue_handle).state.load(std::memory_order_acquire);
    if (header.function != 0) {
      const FunctionState* const function = L::objects().functions.find(header.function_handle);
      if (function == nullptr || function->id != header.function) {
        return false;
      }
      state ^= function->state.load(std::memory_order_acquire);
    }
    return state == header.state;
  }

  /// Records name the events that they wait for.
  backends::Event acquire_event(capture::WaitRef /*wait*/) noexcept override { return backends::kNoEvent; }

  bool watch_exit() noexcept override { return layer::watch_exit(); }
  void begin() noexcept override {
    layer::watch_end();
    layer::open_control_socket();
  }
  const env::Region* region_now() noexcept override { return layer::region_now(); }

  Device device_of(const capture::QueueInfo& queue) override {
    return L::device_of(backends::Stream<Api>::of(queue.handle).context);
  }

  std::string function_name(capture::FunctionId function) noexcept override { return L::name_of_function(function); }
};

}  // namespace refrain::layer::streams
