// The engine of an API with streams: the same steps for all of them.
#pragma once

#include <memory>
#include <utility>

#include "layer/immortal.h"
#include "layer/process.h"
#include "layer/start_up.h"
#include "layer/streams/hooks.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// Makes what L::runtime() has besides the driver's functions, and makes it known as the last step. May throw: then
/// nothing of it is there. Returns the engine.
template <class L, class Backend>
replay::Engine* start_engine(const env::Settings& settings, const ProcessHooks& process) {
  static Immortal<Hooks<L>> hooks;
  auto& runtime = L::runtime();
  std::unique_ptr<capture::Recorder> recorder(open_recorder(settings));
  auto backend = std::make_unique<Backend>(runtime.driver);
  auto engine = std::make_unique<replay::Engine>(settings, *backend, *hooks, recorder.get());
  watch_process(process);
  runtime.recorder = recorder.release();
  runtime.replays = env::replays(settings);
  runtime.backend = backend.release();
  replay::Engine* const made = engine.release();
  runtime.engine.store(made, std::memory_order_release);
  return made;
}

}  // namespace refrain::layer::streams
