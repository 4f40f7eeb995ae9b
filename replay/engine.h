// The process-wide part of replay: settings, lanes, graphs, background thread, watchdog, report.
// A layer owns one Engine (per API) and talks to it and to the calling thread's Lane; see
// replay/lane/lane.h for what happens at each call.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "capture/recorder.h"
#include "env/region.h"
#include "env/settings.h"
#include "replay/lane/engine_state.h"
#include "replay/lane/lane.h"
#include "replay/layer_hooks.h"

namespace refrain::replay {

struct LaneContext;
struct ReportData;
class VerificationPause;

class Engine {
 public:
  /// `recorder` may be null. Everything given must outlive the engine. Touches no driver.
  Engine(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks, capture::Recorder* recorder);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const env::Settings& settings() const noexcept { return settings_; }
  /// The calling thread's lane: on first use one whose thread ended, or a new one; flushed when the thread ends.
  [[nodiscard]] Lane& lane() noexcept {
    Lane* mine = Lane::current;
    return mine != nullptr ? *mine : open_lane();
  }
  /// True if any lane holds work, or has calls that wait behind it. For the fast path of host calls. If not, the driver
  /// has all that was held before, whichever thread submitted it.
  [[nodiscard]] bool anything_held() const noexcept {
    return state_.held_lanes.load(std::memory_order_acquire) != 0 || anything_trails();
  }
  /// Of these, the calls.
  [[nodiscard]] bool anything_trails() const noexcept {
    return state_.trailing_lanes.load(std::memory_order_acquire) != 0;
  }

  /// To be called before work is submitted to, or a host call observes, `queue`: work held there by
  /// *another* lane is flushed. Cheap if there is none.
  void flush_holder(QueueSlot& queue) noexcept REFRAIN_EXCLUDES(held_right) {
    Lane* holder = queue.holder.load(std::memory_order_acquire);
    if (holder != nullptr && holder != Lane::current) {
      flush_holder(holder, queue);
    }
  }
  /// Flushes every lane but the calling thread's.
  void flush_others() noexcept REFRAIN_EXCLUDES(held_right);
  /// Flushes the lane that made the promise, if it still holds it (see OperationHeader::promise): its submission
  /// `sequence`, or, where that is not known, anything.
  void flush_lane(std::uint64_t lane, std::uint64_t sequence = Lane::kNewest) noexcept REFRAIN_EXCLUDES(held_right);
  /// Flushes what the calling thread holds, and ends its stretch: for calls that observe nothing else but what the
  /// caller flushes besides. To be called after a failure, too. Returns the first error that belongs to the calling
  /// thread's own held work.
  int flush_own(const EntryPoint& entry_point) noexcept REFRAIN_EXCLUDES(held_right);
  /// Flushes every lane: for calls nobody classified, and those that observe more than a queue or an event. Returns the
  /// first error that belongs to the calling thread's own held work.
  int flush_all(const EntryPoint& entry_point) noexcept REFRAIN_EXCLUDES(held_right);
  /// The same for a call that has no way to return an error: the thread's next one that has does.
  void flush_all_silently(const EntryPoint& entry_point) noexcept REFRAIN_EXCLUDES(held_right);

  /// A queue was created (fills `slot.capabilities`, tells the recorder) or goes away.
  void adopt_queue(QueueSlot& slot) noexcept;
  void queue_gone(QueueSlot& slot) noexcept;
  /// verify mode: memory is compared, and put back, once all has ended that the program submitted.
  [[nodiscard]] bool compares() const noexcept { return settings_.mode == env::Mode::kVerify; }
  /// If it compares: work that nobody looks at may go to this queue, which is waited for from now on.
  void watch_queue(const capture::QueueInfo& queue) noexcept;
  /// Work may be under way that cannot be waited for: nothing is compared any more. `why` has static lifetime.
  void cannot_know(const char* why) noexcept;
  /// Around a call that submits something and that no lane sees: nothing is compared meanwhile. `engine` may be null.
  class [[nodiscard]] Beside {
   public:
    explicit Beside(Engine* engine) noexcept;
    ~Beside();
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

   private:
    VerificationPause* pause_;
  };
  /// The application dropped its last reference to a buffer, image or sampler: graphs that name it are
  /// retired before this returns, so that the object is really freed. Cheap if no graph exists.
  void object_gone(capture::ObjectId object) noexcept;
  /// The same for a kernel or a queue for which no token will ever stand again: what was learnt of it goes, too.
  void identity_gone(capture::ObjectId identity) noexcept;
  /// What graphs that are gone have of the driver, as they ran then, is given back soon if they have ended.
  void give_back() noexcept;
  /// Before the driver destroys something that no record may exist of, but what a lane kept may name
  /// (Lane::while_nothing_gone()). Waits for who asks the driver about that.
  void something_gone() noexcept REFRAIN_EXCLUDES(held_right, state_.asking) {
    const env::MutexLock guard(state_.asking);
    state_.gone.fetch_add(1, std::memory_order_seq_cst);
  }

  /// To be called before and after a setter calls the driver, with everything flushed. What was predicted from earlier
  /// state is dropped, and so are builds in progress. `changed`: the driver accepted it; the layer's tokens and
  /// is_current() must reflect it by then. A thread that computed a token before the setter and held its operation
  /// since sees from state_changes() that a change has begun, and flushes.
  void state_changing() noexcept { state_.changes.begin(); }
  void state_changed(bool changed) noexcept;
  [[nodiscard]] const StateChanges& state_changes() const noexcept { return state_.changes; }

  /// From now on every lane is dormant (`refrain_stop()` in layer/refrain.h), with nothing held, until start(). Another
  /// thread's submission that is being looked at may still be held, for the hold limit at most. Any thread.
  void stop() noexcept REFRAIN_EXCLUDES(held_right);
  void start() noexcept { state_.stopped.store(false); }
  [[nodiscard]] bool stopped() const noexcept { return state_.stopped.load(std::memory_order_relaxed); }
  /// The calling thread is in another region now; null: in none.
  void enter_region(const env::Region* region) noexcept;
  /// The file of the capture; empty: there is none.
  [[nodiscard]] std::string capture_file() const;

  /// Waits until every graph that was asked for is built (tests).
  void wait_idle();

  /// Report for people (several lines) and for programs.
  [[nodiscard]] std::string report() const;
  [[nodiscard]] std::string report_json() const;

  /// Writes the report to the log and, if asked for, to the report file. Never throws.
  void write_report() const noexcept;

  /// Flushes everything, stops the threads, writes the report. From then on every lane passes
  /// through. Safe to call twice. No driver call is made except submitting held work.
  void shut_down() noexcept;
  /// Writes capture and report where the process ends without shut_down(), on a thread that cannot be blocked inside a
  /// driver. Does not include submissions that other threads only kept, or still hold.
  void write_out() noexcept;
  /// Ends the calling thread's lane (called when a thread ends).
  void close_lane() noexcept;
  /// After fork() in the child: passes everything through, touches no thread or lock of the parent.
  void disable_after_fork() noexcept;
  /// False once its threads have ended. Until then, and after it gave up as well, it may be making something of what
  /// the program is about to destroy: whoever does tells it.
  [[nodiscard]] bool has_threads() const noexcept { return has_threads_.load(std::memory_order_acquire); }
  [[nodiscard]] bool active() const noexcept { return state_.active.load(std::memory_order_relaxed); }
  /// An internal failure (out of memory, say): one log line, and from then on everything passes through. What is held
  /// still is submitted, and its errors are told, as before: by the flushes above, by its thread's next submission, or
  /// within the hold limit.
  void fail(const char* what) noexcept { state_.fail(what); }

  /// The same where nothing failed, but nothing may be held any more; `why`: the parts of the log line.
  void stand_aside(std::initializer_list<std::string_view> why) noexcept { state_.stand_aside(why); }

  /// Another device or process may wait for what is held, and no call shows it: see Watchdog::hurry(). `why`: for the
  /// report, with static lifetime; the first one is told. Any thread; not for every call.
  void others_may_wait(const char* why) noexcept;

  /// For tests, and where no thread runs (see machine.h).
  [[nodiscard]] LaneContext& context() noexcept;

 private:
  Lane& open_lane() noexcept;
  void learn_from_profile(const QueueSlot& slot) noexcept;
  void begin() noexcept;
  void drop_graphs_of(capture::ObjectId object) noexcept;
  void flush_holder(const Lane* holder, const QueueSlot& queue) noexcept;
  [[nodiscard]] ReportData report_data() const;
  void flush_capture() noexcept;
  void finish_capture() noexcept;
  void write_out_once() noexcept;

  struct Inside;

  EngineState state_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> shut_{false};
  std::atomic<bool> has_threads_{true};
  std::atomic<bool> written_out_{false};
  env::Settings settings_;
  std::uint64_t started_ns_ = 0;
  std::unique_ptr<Inside> inside_;
};

}  // namespace refrain::replay
