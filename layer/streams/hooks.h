// What the engine asks of the layer of an API with streams.
#pragma once

#include "layer/streams/objects.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// L has, besides what objects.h lists, name_of_function(id).
template <class L>
class Hooks final : public replay::LayerHooks {
 public:
  using Api = typename L::Api;

  /// Records the application's event of a held record.
  void fulfil(const capture::OperationView& operation, backends::Event event, int status) noexcept override {
    auto& record = *reinterpret_cast<EventState<Api>*>(operation.header().promise);
    auto& backend = *L::runtime().backend;
    const typename Api::Driver& driver = L::runtime().driver;
    struct Release {
      backends::StreamBackend<Api>& backend;
      backends::Event event;
      ~Release() {
        if (event != backends::kNoEvent) {
          backend.release_event(event);
        }
      }
    } const release{backend, event};
    // Parts of a graph may be submitted in another order than the calls: the newest record counts.
    const std::uint64_t sequence = operation.header().sequence;
    if (status != 0 || sequence < record.recorded_sequence.load(std::memory_order_relaxed)) {
      return;
    }
    record.recorded_sequence.store(sequence, std::memory_order_relaxed);
    backends::Stream<Api>& stream = backends::Stream<Api>::of(operation.header().queue_handle);
    const backends::StreamPoint<Api> point = backend.order().now(stream);
    const typename Api::Scope scope(driver, stream.context);
    // If the stream only waits for a graph on another one, the event is recorded there.
    auto* known = event == backends::kNoEvent ? nullptr : &backends::NativeEvent<Api>::of(event);
    const backends::Stream<Api>& place = backend.links().recording_place(stream, known, &record.end);
    const auto handle = reinterpret_cast<typename Api::EventHandle>(record.handle.load(std::memory_order_relaxed));
    if (Api::record_event(driver, handle, place.handle) != Api::kSuccess) {
      // The program was told that it is recorded. Who asks the event finds an older record, which is done, and so the
      // work must be: slow and right.
      static_cast<void>(Api::synchronize(driver, place.handle));
    }
    record.set_point(point);
  }

  /// An event that is recorded several times in a graph is recorded once behind it.
  [[nodiscard]] bool newest_first() const noexcept override { return true; }

  /// Nothing can be retained. The backend refuses to record what is gone, and whoever destroys something waits until
  /// nothing is being recorded.
  bool retain_objects(const capture::OperationView& /*operation*/) noexcept override { return true; }
  void release_objects(const capture::OperationView& /*operation*/) noexcept override {}

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

  backends::Event acquire_event(capture::WaitRef wait) noexcept override {
    auto* event = backends::EventPool<Api>::borrow(reinterpret_cast<typename Api::EventHandle>(wait));
    return event == nullptr ? backends::kNoEvent : event->as_event();
  }

  std::string function_name(capture::FunctionId function) noexcept override { return L::name_of_function(function); }
};

}  // namespace refrain::layer::streams
