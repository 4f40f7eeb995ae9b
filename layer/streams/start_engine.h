// The engine of an API with streams in a process: its start, its end, and forks. The same steps for all APIs.
//
// L has, besides what objects.h lists, stubs(): the interpose::StubTable of the process.
#pragma once

#include <memory>
#include <utility>

#include "layer/control.h"
#include "layer/ending.h"
#include "layer/immortal.h"
#include "layer/interpose/stub_table.h"
#include "layer/process.h"
#include "layer/report_signal.h"
#include "layer/start_up.h"
#include "layer/streams/hooks.h"
#include "layer/streams/host_call.h"
#include "layer/streams/proxy_stream.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// Nothing is held any more; the reason goes to the log.
template <class L>
void give_up(const char* why) noexcept {
  if (replay::Engine* running = L::any_engine(); running != nullptr && running->active()) {
    running->fail(why);
  }
}

/// Submits what is held, ends the threads, writes the report. Calls pass through from then on.
template <class L>
void shut_down() noexcept {
  replay::Engine* running = L::any_engine();
  if (running == nullptr) {
    return;
  }
  L::stubs().set_watching(false);
  running->shut_down();
  stop_watching_for_end();
  close_control();
  leave_proxy<L>();  // stubs do not look any more
}

/// The driver does not work in a child that was forked after its start; nothing of ours may touch it there.
template <class L>
void disable_in_child() noexcept {
  L::stubs().set_watching(false);
  forget_end_in_child();
  forget_control_in_child();
  if (replay::Engine* running = L::any_engine(); running != nullptr) {
    running->disable_after_fork();
  }
  forget_proxies<typename L::Api>();
}

template <class L>
void notify_end() noexcept {
  if (replay::Engine* running = L::any_engine(); running != nullptr) {
    running->write_out();
  }
}

/// `api`: see open_control(). Makes what L::runtime() has besides the driver's functions, and makes it known, and has
/// stubs call `hook`, as the last steps. May throw: then nothing of it is there. Returns the engine.
template <class L, class Backend>
replay::Engine* start_engine(const char* api, const env::Settings& settings, const ProcessHooks& process,
                             interpose::HostCallHook hook) {
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
  runtime.engine.store(made);
  if (const char* const why = runtime.others_wait.load(); why != nullptr) {
    made->others_may_wait(why);
  }
  interpose::HostStubs::set_hook(hook);
  L::stubs().set_watching(true);
  install_report_handler(settings);
  open_control(*made, api, hook);
  return made;
}

}  // namespace refrain::layer::streams
