#include "replay/engine.h"

#include <fmt/format.h>

#include "env/file_name.h"
#include "env/keep_errno.h"
#include "env/log.h"
#include "env/mutex.h"
#include "env/own_thread.h"
#include "env/stuck_check.h"
#include "replay/lane/inside.h"
#include "replay/lane/lane_context.h"
#include "replay/lane/lane_registry.h"
#include "replay/report/report.h"
#include "replay/report/report_file.h"
#include "replay/runtime/clock.h"
#include "replay/runtime/machine.h"

namespace refrain::replay {

namespace {

const char* mode_name(env::Mode mode) {
  switch (mode) {
    case env::Mode::kOff: return "off";
    case env::Mode::kObserve: return "observe";
    case env::Mode::kCapture: return "capture";
    case env::Mode::kReplay: return "replay";
    case env::Mode::kVerify: return "verify";
  }
  return "unknown";
}

}  // namespace

struct Engine::Inside {
  Inside(const env::Settings& settings, EngineState& state, backends::Backend& backend, LayerHooks& hooks,
         capture::Recorder* recorder)
      : context(settings, state, backend, hooks, recorder,
                [this](std::uint64_t oldest_ns, bool rests) { return lanes.flush_older(oldest_ns, rests); }),
        lanes(context),
        report_file(settings.report_file, env::permissions(settings.file_mode), env::OlderFiles::of_process()) {}

  /// Submits all that is held, on a thread for which nobody waits for long. False: the driver has not returned, and
  /// nothing may be asked that needs a lane's lock, for good.
  [[nodiscard]] bool flush_at_end() noexcept {
    env::UniqueLock lock(ending);
    flushed = false;
    if (!starts_threads() ||
        !end_thread.start<&Inside::flush>("refrain-end", *this, env::OwnThread::Stack::kPrograms)) {
      lock.unlock();
      lanes.flush_all(false);
      return true;
    }
    if (!end_check.wait(end_of_flush, lock, [&]() REFRAIN_REQUIRES(ending) { return flushed; })) {
      end_thread.leave();
      return false;
    }
    lock.unlock();
    end_thread.join();
    return true;
  }
  void flush() noexcept {
    {
      const env::StuckCheck::Calls calls(end_check);
      lanes.flush_all(false);
    }
    const env::MutexLock guard(ending);
    flushed = true;
    end_of_flush.notify_all();
  }

  LaneContext context;
  LaneRegistry lanes;
  ReportFile report_file;
  env::StuckCheck end_check{"submitting what was held at the program's end: it is lost, and there is no report"};
  env::Mutex beginning;
  env::Mutex ending;
  env::ConditionVariable end_of_flush;
  bool flushed REFRAIN_GUARDED_BY(ending) = false;
  env::OwnThread end_thread;
};

Engine::Engine(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks,
               capture::Recorder* recorder)
    : settings_(settings),
      started_ns_(now_ns()),
      inside_(std::make_unique<Inside>(settings_, state_, backend, hooks, recorder)) {
  state_.stopped.store(!settings_.start);
}

Engine::~Engine() {
  shut_down();
}

LaneContext& Engine::context() noexcept {
  return inside_->context;
}

Lane& Engine::open_lane() noexcept {
  return inside_->lanes.open();
}

void Engine::close_lane() noexcept {
  inside_->lanes.close();
}

void Engine::flush_holder(const Lane* holder, const QueueSlot& queue) noexcept {
  inside_->lanes.flush_holder(holder, queue);
}

void Engine::flush_lane(std::uint64_t number, std::uint64_t sequence) noexcept {
  if (anything_held()) {
    inside_->lanes.flush_lane(number, sequence);
  }
}

void Engine::flush_others() noexcept {
  // Not anything_held(): of a setter and of a thread that begins to hold, one must see the other (state_changed()).
  if (state_.held_lanes.load(std::memory_order_seq_cst) != 0 ||
      state_.trailing_lanes.load(std::memory_order_relaxed) != 0) {
    inside_->lanes.flush_all(true);
  }
}

int Engine::flush_own(const EntryPoint& entry_point) noexcept {
  if (active()) [[likely]] {
    return lane().host_call(entry_point);
  }
  Lane* mine = Lane::current;  // who has none has nothing to be told
  return mine != nullptr && mine->is_of(state_) ? mine->host_call(entry_point) : 0;
}

int Engine::flush_all(const EntryPoint& entry_point) noexcept {
  const int error = flush_own(entry_point);
  if (anything_held()) {
    inside_->lanes.flush_all(false);
  }
  return error;
}

void Engine::flush_all_silently(const EntryPoint& entry_point) noexcept {
  if (const int error = flush_all(entry_point); error != 0) {
    Lane::current->report_later(error);
  }
}

void Engine::adopt_queue(QueueSlot& slot) noexcept {
  const env::KeepErrno keep;  // a profile is read, a socket opened
  slot.capabilities = inside_->context.backend.capabilities(slot.info);
  if (inside_->context.verification_pause != nullptr) {
    inside_->context.verification_pause->add(slot.info);
  }
  if (inside_->context.recorder != nullptr) {
    inside_->context.recorder->define(slot.info);
  }
  if (inside_->context.profile.wanted()) {
    learn_from_profile(slot);
  }
  if (!begun_.load(std::memory_order_relaxed)) {
    begin();
  }
}

/// Nobody but the end of the process waits for who does it.
void Engine::begin() noexcept {
  if (begun_.exchange(true)) {
    return;
  }
  const env::MutexLock guard(inside_->beginning);
  if (!shut_.load() && !state_.abandoned.load()) {
    inside_->context.hooks.begin();
  }
}

void Engine::watch_queue(const capture::QueueInfo& queue) noexcept {
  try {
    inside_->context.verification_pause->add(queue);
  } catch (const std::exception&) {
    cannot_know("the host has no memory to remember the program's queues");
  }
}

void Engine::cannot_know(const char* why) noexcept {
  if (VerificationPause* const pause = inside_->context.verification_pause.get(); pause != nullptr) {
    pause->cannot_know(why);
  }
}

Engine::Beside::Beside(Engine* engine) noexcept
    : pause_(engine != nullptr && engine->has_threads() ? engine->inside_->context.verification_pause.get() : nullptr) {
  if (pause_ != nullptr) [[unlikely]] {
    pause_->enter();
  }
}

Engine::Beside::~Beside() {
  if (pause_ != nullptr) [[unlikely]] {
    pause_->leave();
  }
}

/// With the first queue the device is known, and nothing was submitted yet.
void Engine::learn_from_profile(const QueueSlot& slot) noexcept {
  LaneContext& context = inside_->context;
  try {
    if (!context.profile.ready()) {
      const LayerHooks::Device device = context.hooks.device_of(slot.info);
      context.profile.read(device.name, device.driver);
      context.graphs.learn(context.profile.graphs());
    }
    if (Lane* mine = Lane::current; mine != nullptr && mine->is_of(state_) && active()) {
      mine->learn_from_profile();
    }
  } catch (const std::exception& error) {
    env::log_warning({"the profile is not used: ", error.what()});
  }
}

void Engine::queue_gone(QueueSlot& slot) noexcept {
  flush_holder(slot);
  state_.gone.fetch_add(1, std::memory_order_relaxed);
  if (inside_->context.verification_pause != nullptr) {
    inside_->context.verification_pause->forget(slot, inside_->context.backend, inside_->context.hooks.may_wait());
  }
  drop_graphs_of(slot.info.id);
}

void Engine::drop_graphs_of(capture::ObjectId object) noexcept {
  try {
    inside_->context.graphs.object_gone(object);
  } catch (const std::exception& error) {
    state_.fail(error.what());  // no graph is used any more
  }
}

void Engine::object_gone(capture::ObjectId object) noexcept {
  state_.gone.fetch_add(1, std::memory_order_relaxed);
  drop_graphs_of(object);
  give_back();
}

void Engine::give_back() noexcept {
  if (inside_->context.backend.has_to_give_back()) {
    inside_->context.discarder.look_again();
  }
}

void Engine::identity_gone(capture::ObjectId identity) noexcept {
  object_gone(identity);
  inside_->context.graphs.identity_gone(identity);
}

void Engine::state_changed(bool changed) noexcept {
  state_.changes.end();
  if (changed) {
    state_.gone.fetch_add(1, std::memory_order_seq_cst);
    flush_others();  // held while the driver was at it, by what was true before
  }
}

void Engine::others_may_wait(const char* why) noexcept {
  const char* nobody = nullptr;
  state_.others_wait.compare_exchange_strong(nobody, why, std::memory_order_relaxed);
  inside_->context.watchdog.hurry();
}

void Engine::stop() noexcept {
  if (!active()) {
    return;
  }
  state_.stopped.store(true);
  state_.gone.fetch_add(1);  // what is predicted is looked at, and is not held then
  inside_->lanes.flush_all(false);
  flush_capture();
}

void Engine::enter_region(const env::Region* region) noexcept {
  if (Lane* mine = Lane::current; mine != nullptr && mine->is_of(state_) && active() && !inside_lane) {
    mine->enter_region(region);
  }
}

void Engine::finish_capture() noexcept {
  if (capture::Recorder* const recorder = inside_->context.recorder; recorder != nullptr) {
    recorder->finish();
  }
}

void Engine::flush_capture() noexcept {
  if (capture::Recorder* const recorder = inside_->context.recorder; recorder != nullptr) {
    recorder->flush();
  }
}

std::string Engine::capture_file() const {
  const capture::Recorder* const recorder = inside_->context.recorder;
  return recorder != nullptr ? recorder->file() : std::string();
}

void Engine::wait_idle() {
  inside_->context.builder.wait_idle();
}

namespace {

/// Rank and host only where a launcher or a batch system started it.
std::string process_text() {
  std::string text = "pid " + env::FileName("%p").text();
  if (const std::string rank = env::FileName("%r").text(); rank != "0" || env::FileName("%j").text() != "0") {
    text += ", rank " + rank + " on " + env::FileName("%h").text();
  }
  return text;
}

}  // namespace

ReportData Engine::report_data() const {
  if (Lane* mine = Lane::current; mine != nullptr && mine->is_of(state_)) {
    mine->look_at_deferred(false);  // of other lanes up to a few dozen submissions may be missing
  }
  ReportData data = inside_->lanes.report();
  const LaneContext& context = inside_->context;
  data.program = env::FileName("%n").text();
  data.process = process_text();
  data.mode = mode_name(settings_.mode);
  data.backend = context.backend.name();
  data.seconds = static_cast<double>(now_ns() - started_ns_) / 1e9;
  data.device_notes = context.backend.notes();
  if (const char* const why = state_.others_wait.load(std::memory_order_relaxed);
      why != nullptr && data.launches != 0) {
    data.notes.push_back(fmt::format(
        "other devices or processes may wait for it ({}): what is held leaves {} us after the last submission", why,
        settings_.rest_limit_us));
  }
  data.graphs = context.graphs.summaries();
  data.devices = context.graphs.devices();
  data.graphs_gone = context.graphs.gone();
  data.trial_ms = static_cast<double>(context.budget.spent_ns()) / 1e6;
  data.yielded_ms = static_cast<double>(context.backend.exclusive_call_yield().given_ns()) / 1e6;
  return data;
}

std::string Engine::report() const {
  return report_text(report_data());
}

std::string Engine::report_json() const {
  return replay::report_json(report_data());
}

void Engine::write_report() const noexcept {
  try {
    if (settings_.report) {
      env::log_info(report());
    }
    if (!settings_.report_file.empty()) {
      inside_->report_file.write(report_json());
    }
  } catch (const std::exception& error) {
    env::log_error(error.what());
  }
}

void Engine::shut_down() noexcept {
  if (state_.abandoned.load(std::memory_order_relaxed) || shut_.exchange(true)) {
    return;
  }
  {
    const env::MutexLock guard(inside_->beginning);  // what began meanwhile is there
  }
  if (Lane* mine = Lane::current; mine != nullptr && mine->is_of(state_)) {
    mine->look_at_deferred(false);
  }
  const auto flush = [this] { return (!anything_held() && !anything_trails()) || inside_->flush_at_end(); };
  bool flushed = flush();
  state_.active.store(false);
  flushed = flushed && flush();  // threads may have gone on holding until the line above
  inside_->context.watchdog.stop(flushed);
  inside_->context.builder.stop();
  inside_->context.discarder.stop();
  has_threads_.store(false, std::memory_order_release);
  if (!flushed) {
    state_.abandoned.store(true);
    state_.held_lanes.store(0);  // later calls of the program's are not to wait for it
    state_.trailing_lanes.store(0);
    finish_capture();
    return;
  }
  if (Lane* mine = Lane::current; mine != nullptr && mine->is_of(state_)) {
    mine->leave_profile();
  }
  write_out_once();
}

void Engine::write_out() noexcept {
  if (!state_.abandoned.load(std::memory_order_relaxed)) {
    write_out_once();
  }
}

void Engine::write_out_once() noexcept {
  if (written_out_.exchange(true)) {
    return;
  }
  flush_capture();
  write_report();
  finish_capture();
  if (inside_->context.profile.wanted()) {
    try {
      inside_->context.profile.write(inside_->context.graphs.known());
    } catch (const std::exception& error) {
      env::log_warning({"the profile is not written: ", error.what()});
    }
  }
}

void Engine::disable_after_fork() noexcept {
  state_.abandoned.store(true);
  state_.active.store(false);
  has_threads_.store(false);
  state_.held_lanes.store(0);
  state_.trailing_lanes.store(0);
  inside_->context.watchdog.abandon_thread();
  inside_->context.builder.abandon_thread();
  inside_->context.discarder.abandon_thread();
}

}  // namespace refrain::replay
