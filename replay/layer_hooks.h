// What the engine asks of the layer that owns it.
#pragma once

#include <string>

#include "backends/backend.h"
#include "capture/operation.h"
#include "env/region.h"

namespace refrain::replay {

/// What the engine asks of the layer. Called with a lane's lock held, from any thread; must not call
/// back into a Lane and must not throw.
class LayerHooks {
 public:
  virtual ~LayerHooks() = default;
  /// The held operation that promised an event was submitted. `event` (one reference, now owned by the callee) stands
  /// for its completion, or is 0 where the application's own event does; if `status` is not 0 the submission failed.
  virtual void fulfil(const capture::OperationView& operation, backends::Event event, int status) noexcept = 0;
  /// Retains every object named in the record (kernel, buffers, images, samplers, queue) so that it
  /// may be used later by another thread. Returns false, retaining nothing, if one is already gone.
  virtual bool retain_objects(const capture::OperationView& operation) noexcept = 0;
  virtual void release_objects(const capture::OperationView& operation) noexcept = 0;
  /// Whether what setters have set is what the record was made with (OperationHeader::state).
  virtual bool is_current(const capture::OperationView& /*operation*/) noexcept { return true; }
  /// Native event (one reference for the caller) behind a WaitRef that is not an internal wait of the
  /// lane; 0 if it is already complete or unknown.
  virtual backends::Event acquire_event(capture::WaitRef wait) noexcept = 0;
  /// False while nothing may be held that the layer has not looked at. Asked only while nothing is held by that thread.
  virtual bool may_hold() noexcept { return true; }
  /// False while waiting for a queue could block for ever, because the application has user events
  /// that it has not set yet.
  virtual bool may_wait() noexcept { return true; }
  /// In verify mode: why work of the program's may be under way in a queue that the engine was not told of, or that
  /// nobody may ask about now; null: all are known. With static lifetime.
  virtual const char* why_not_all_queues() noexcept { return nullptr; }
  /// Called before anything is held for the first time. Registers the exit handler that shuts the engine down, so late
  /// that it runs before those of the driver: behind them the driver would refuse held work, and nobody would be told.
  /// False if it cannot be registered: then nothing may be held.
  virtual bool watch_exit() noexcept { return true; }
  /// Called once, with the first queue, and not behind Engine::shut_down(): what the layer has of its own beside the
  /// engine may begin. The driver has threads then, if it has any, and what we take is not missing there.
  virtual void begin() noexcept {}
  /// The device that the queue is of, for people, and the driver's version: what was measured elsewhere says nothing.
  /// May throw std::bad_alloc.
  struct Device {
    std::string name, driver;
    std::uint64_t number = 0;  ///< tells devices of one name apart
    bool operator==(const Device&) const = default;
  };
  virtual Device device_of(const capture::QueueInfo& /*queue*/) { return {}; }
  /// The region that the program is in on the calling thread; null: none.
  virtual const env::Region* region_now() noexcept { return nullptr; }
  /// Whether what a kernel does may be seen otherwise than in memory, so that it must not be run twice.
  virtual bool prints(capture::FunctionId /*function*/) noexcept { return false; }
  /// Name of a kernel for reports, e.g. "stencil"; empty if unknown.
  virtual std::string function_name(capture::FunctionId function) noexcept = 0;
};

}  // namespace refrain::replay
