#include "layer/opencl/layer.h"

#include <string>
#include <utility>

#include "env/log.h"
#include "layer/immortal.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/stubs.h"
#include "layer/waiting.h"

namespace refrain::layer::opencl {

std::atomic<replay::Engine*> engine_pointer{nullptr};

// Constructed on first use of the library and never destroyed: the application's threads may call us
// while the process exits.
namespace {
Immortal<Layer> only_state;
Immortal<Objects> only_objects;
}  // namespace
Layer& state = *only_state;
Objects& objects = *only_objects;

ObjectId next_object_id() noexcept {
  static std::atomic<ObjectId> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

replay::Engine* engine_with_work() noexcept {
  replay::Engine* found = engine_pointer.load(std::memory_order_acquire);
  return found != nullptr && found->anything_held() ? found : nullptr;
}

HostCall::HostCall(const replay::EntryPoint& entry_point) noexcept
    : entry_point_(entry_point), engine_(opencl::engine()) {
  if (engine_ != nullptr) {
    const NotCancelled during(engine_->anything_held());
    held_error_ = engine_->lane().host_call(entry_point);
  } else if (replay::Engine* failed = engine_pointer.load(std::memory_order_acquire); failed != nullptr) {
    const NotCancelled during(failed->anything_held());
    held_error_ = failed->flush_all(entry_point);  // it may have given up while something was held
  }
  signal_promises();
}

HostCall::~HostCall() {
  if (engine_ != nullptr) {
    engine_->lane().host_call_done(entry_point_, false);
  }
}

cl_int HostCall::done(cl_int status, bool waited) noexcept {
  if (engine_ != nullptr) {
    std::exchange(engine_, nullptr)->lane().host_call_done(entry_point_, waited);
  }
  if (waited && state.sweeps.load(std::memory_order_relaxed) > 0) {
    state.sweeps.fetch_sub(1, std::memory_order_relaxed);
    state.backend->forget_function(0);  // no function has this number
  }
  return held_error_ != 0 ? held_error_ : status;
}

replay::Lane* settle_for_release(std::uint64_t holder) noexcept {
  replay::Engine* running = engine_with_work();
  if (running == nullptr) {
    return nullptr;
  }
  replay::Lane& lane = running->lane();
  if (holder == kManyLanes) {
    static constexpr replay::EntryPoint kRelease{"release of an object that several threads use"};
    running->flush_all(kRelease);
  } else if (holder != 0 && holder != lane.number()) {
    running->settle_lane(holder);
  }
  return &lane;
}

void log_once(std::atomic<bool>& said, const char* what) noexcept {
  if (!said.exchange(true, std::memory_order_relaxed)) {
    env::log_warning(what);
  }
}

}  // namespace refrain::layer::opencl
