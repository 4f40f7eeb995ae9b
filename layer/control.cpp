#include "layer/control.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <exception>
#include <string>
#include <string_view>

#include "env/control_address.h"
#include "env/control_hooks.h"
#include "env/exit_hooks.h"
#include "env/log.h"
#include "layer/control_socket.h"
#include "layer/immortal.h"

#pragma weak refrain_at_end
#pragma weak refrain_attach
#pragma weak refrain_region_now

namespace refrain::layer {
namespace {

constexpr int kLongestCaptureSeconds = 86'400;  // limit

std::atomic<replay::Engine*> controlled{nullptr};
const char* api_name = "";
void (*flush_hook)(const replay::EntryPoint&) noexcept = nullptr;
Immortal<ControlSocket> control_socket;

void on_start() noexcept {
  if (replay::Engine* engine = controlled.load()) {
    engine->start();
  }
}

void on_flush() noexcept {
  static const replay::EntryPoint refrain_flush{"refrain_flush"};
  if (controlled.load() != nullptr) {
    flush_hook(refrain_flush);
  }
}

void on_stop() noexcept {
  static const replay::EntryPoint refrain_stop{"refrain_stop"};
  if (replay::Engine* engine = controlled.load()) {
    engine->stop();
    flush_hook(refrain_stop);
  }
}

void on_region(const env::Region* now) noexcept {
  if (replay::Engine* engine = controlled.load()) {
    engine->enter_region(now);
  }
}

constexpr RefrainLayer kLayer{&on_start, &on_stop, &on_flush, &on_region};

/// Async-signal-safe.
void on_end() {
  control_socket->remove_name();
}

// Answers: "ok" or "error", and behind the first line break what is to be printed.

std::string ok(const std::string& text) {
  return "ok\n" + text;
}
std::string error(const std::string& text) {
  return "error\n" + text;
}

std::string state_of(const replay::Engine& engine) {
  return !engine.active() ? "passes everything through" : engine.stopped() ? "stopped" : "at work";
}

std::string capture_for(replay::Engine& engine, std::string_view seconds_text, const ControlSocket::Wait& wait) {
  int seconds = 0;
  const auto [end, problem] = std::from_chars(seconds_text.data(), seconds_text.data() + seconds_text.size(), seconds);
  if (problem != std::errc{} || end != seconds_text.data() + seconds_text.size() || seconds < 1 ||
      seconds > kLongestCaptureSeconds) {
    return error("capture takes a number of seconds, 1 to " + std::to_string(kLongestCaptureSeconds));
  }
  if (engine.settings().mode != env::Mode::kCapture) {
    return error("the process was not started to be captured; start it with: refrain run --capture --start off");
  }
  if (!engine.stopped()) {
    return error("it is being captured already; `refrain ctl PID stop` ends that");
  }
  engine.start();
  const bool whole = wait(seconds * 1000);
  engine.stop();
  const std::string file = engine.capture_file();
  if (file.empty()) {
    return error("no capture was written: nothing was submitted, or the log of the process says why");
  }
  return whole ? ok("captured " + std::to_string(seconds) + " s to " + file)
               : error("interrupted; captured to " + file);
}

std::string answer(std::string_view request, const ControlSocket::Wait& wait) {
  replay::Engine* const engine = controlled.load();
  if (engine == nullptr) {
    return error("the process is ending");
  }
  constexpr std::string_view kCapture = "capture ";
  if (request == "status") {
    return ok(state_of(*engine));
  }
  if (request == "report") {
    return ok(engine->report());
  }
  if (request == "report json") {
    return ok(engine->report_json());
  }
  if (!engine->active()) {
    return error("Refrain gave up in this process (its log says why): everything passes through");
  }
  if (request == "start") {
    engine->start();
    return ok(state_of(*engine));
  }
  if (request == "stop") {
    engine->stop();
    return ok(state_of(*engine));
  }
  if (request.starts_with(kCapture)) {
    return capture_for(*engine, request.substr(kCapture.size()), wait);
  }
  return error("this process has another version of Refrain, which does not know '" + std::string(request) + "'");
}

void open_socket() {
  const std::string folder = env::own_control_folder();
  if (folder.empty() || !control_socket->start(env::control_address(folder, ::getpid(), api_name), &answer)) {
    env::log_debug(
        {"refrain ctl cannot reach this process: there can be no socket in $XDG_RUNTIME_DIR/refrain or /tmp"});
    return;
  }
  if (&refrain_at_end != nullptr) {
    refrain_at_end(&on_end);
  }
}

}  // namespace

void open_control(replay::Engine& engine, const char* api, void (*flush)(const replay::EntryPoint&) noexcept) noexcept {
  api_name = api;
  flush_hook = flush;
  controlled.store(&engine);
  if (&refrain_attach != nullptr) {
    switch (refrain_attach(&kLayer)) {
      case RefrainWish::kNone: break;
      case RefrainWish::kStart: on_start(); break;
      case RefrainWish::kStop: on_stop(); break;
    }
  }
}

void open_control_socket() noexcept {
  const replay::Engine* const engine = controlled.load();
  if (engine == nullptr || !engine->settings().control) {
    return;
  }
  try {
    open_socket();
  } catch (const std::exception& problem) {
    env::log_debug({"refrain ctl cannot reach this process: ", problem.what()});
  }
}

void close_control() noexcept {
  control_socket->stop();
}

void forget_control_in_child() noexcept {
  controlled.store(nullptr);
  control_socket->forget_in_child();
}

const env::Region* region_now() noexcept {
  return &refrain_region_now != nullptr ? refrain_region_now() : nullptr;
}

}  // namespace refrain::layer
