#include "layer/opencl/layer.h"

#include "env/log.h"
#include "layer/immortal.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/waits.h"

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

replay::Engine* engine_with_work() noexcept {
  replay::Engine* found = engine_pointer.load(std::memory_order_acquire);
  return found != nullptr && found->anything_held() ? found : nullptr;
}

void Protocol::flushed(bool /*submits*/) noexcept {
  signal_promises();  // the driver's call may wait for a callback of what was flushed
}

void Protocol::waited() noexcept {
  note_host_wait();
  if (replay::Engine* running = engine(); running != nullptr) {
    running->give_back();
  }
}

replay::Lane* flush_for_release(std::uint64_t holder) noexcept {
  replay::Engine* running = engine_with_work();
  if (running == nullptr) {
    return nullptr;
  }
  replay::Lane& lane = running->lane();
  if (holder == kManyLanes) {
    static constexpr replay::EntryPoint kRelease{"release of an object that several threads use"};
    running->flush_all_silently(kRelease);
  } else if (holder != 0 && holder != lane.number()) {
    running->flush_lane(holder);
  }
  return &lane;
}

void log_once(std::atomic<bool>& said, const char* what) noexcept {
  if (!said.exchange(true, std::memory_order_relaxed)) {
    env::log_warning(what);
  }
}

}  // namespace refrain::layer::opencl
