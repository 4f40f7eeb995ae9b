// A backend of arithmetic for tests of the engine: operation = "buffer = buffer * 31 + scalar", done at
// once, in the order in which it is told. What the application submitted and what arrived can be compared.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "backends/memory_inventory.h"
#include "replay/engine.h"
#include "replay/runtime/clock.h"

namespace refrain::replay::test {

using capture::OperationKind;
using capture::OperationView;

struct Arrived {
  std::uint64_t queue = 0;
  std::uint64_t buffer = 0;
  std::uint64_t scalar = 0;
  bool native = false;
  friend bool operator==(const Arrived& a, const Arrived& b) {
    return a.queue == b.queue && a.buffer == b.buffer && a.scalar == b.scalar;
  }
};

class ArithmeticBackend : public backends::Backend {
 public:
  // What a test may change.
  bool can_update = false;
  bool can_resize = false;
  bool can_change_functions = false;
  bool addresses = false;  ///< kernels are given addresses, as far as verify knows
  backends::MemoryInventory* shared = nullptr;
  bool refuse_updates = false;  ///< though it can: what changes is not what it can change
  bool simultaneous = true;
  std::atomic<int> fail_enqueues{0};  ///< this many command buffers refuse to run
  std::atomic<int> fail_issues{0};    ///< this many eager issues fail with code -5
  std::atomic<int> fail_records{0};
  std::atomic<bool> bad_moment{false};      ///< for recording: what is refused now may be recorded later
  std::atomic<int> fail_updates{0};         ///< of command buffers, with code -59
  std::atomic<int> spare{0};                ///< so many enqueues, issues and updates go well before those that fail
  std::atomic<bool> corrupt_replay{false};  ///< planted fault: a command buffer adds one to the scalar
  bool can_leave_out = true;
  std::uint64_t enqueue_cost_ns = 0;  ///< busy time of an enqueue
  std::function<void()> in_record;    ///< called while a command buffer is recorded
  std::function<void()> in_enqueue;   ///< called inside an enqueue, as a driver may call the application
  std::function<void()> in_run;       ///< called before each operation is done, eagerly or in a command buffer

  std::vector<Arrived> log() {
    const std::lock_guard guard(mutex_);
    return log_;
  }
  std::map<std::uint64_t, std::uint64_t> memory() {
    const std::lock_guard guard(mutex_);
    return memory_;
  }
  /// Queues whose flush was asked for, in order.
  std::vector<std::uint64_t> flushed() {
    const std::lock_guard guard(mutex_);
    return flushed_;
  }
  /// For how many events each command buffer waited, in order.
  std::vector<std::size_t> waited() {
    const std::lock_guard guard(mutex_);
    return waited_;
  }
  std::atomic<int> updates{0};  ///< of command buffers, so far
  std::function<bool()> busy;   ///< what a command buffer answers when it is asked; none: no
  std::atomic<int> live_buffers{0};
  std::atomic<int> live_events{0};

  void run(const OperationView& operation, bool native) {
    if (operation.kind() != OperationKind::kKernel) {
      return;
    }
    if (in_run) {
      in_run();
    }
    const std::lock_guard guard(mutex_);
    std::uint64_t scalar = operation.handle_of(1);
    if (native && corrupt_replay) {
      ++scalar;
    }
    const std::uint64_t buffer = operation.handle_of(0);
    memory_[buffer] = memory_[buffer] * 31 + scalar;
    log_.push_back({operation.header().queue, buffer, scalar, native});
  }

  class Buffer : public backends::CommandBuffer {
   public:
    Buffer(ArithmeticBackend& backend, const capture::Graph& graph, std::span<const capture::NodeIndex> nodes)
        : backend_(backend), nodes_(nodes.begin(), nodes.end()) {
      for (capture::NodeIndex node = 0; node < graph.size(); ++node) {
        const auto bytes = graph.operation(node).bytes();
        records_.emplace_back(bytes.begin(), bytes.end());
      }
      ++backend_.live_buffers;
    }
    ~Buffer() override { --backend_.live_buffers; }
    backends::Status enqueue(std::span<const backends::Event> waits, backends::Event* done) noexcept override {
      if (backend_.fails(backend_.fail_enqueues)) {
        return {-36};
      }
      {
        const std::lock_guard guard(backend_.mutex_);
        backend_.waited_.push_back(waits.size());
      }
      if (backend_.in_enqueue) {
        backend_.in_enqueue();
      }
      const std::uint64_t end = now_ns() + backend_.enqueue_cost_ns;
      while (now_ns() < end) {
      }
      for (const capture::NodeIndex node : nodes_) {
        if (node < end_) {
          backend_.run(OperationView(records_[node].data()), true);
        }
      }
      if (done != nullptr) {
        *done = backend_.new_event();
      }
      return {};
    }
    backends::Status update(std::span<const backends::NodeUpdate> updates) noexcept override {
      if (!(backend_.can_update || backend_.can_resize) || backend_.refuse_updates ||
          backend_.fails(backend_.fail_updates)) {
        return {-59};
      }
      ++backend_.updates;
      for (const auto& update : updates) {
        const auto bytes = update.operation.bytes();
        records_[update.node].assign(bytes.begin(), bytes.end());
      }
      return {};
    }
    bool run_before(capture::NodeIndex end) noexcept override {
      end_ = end;
      return backend_.can_leave_out;
    }
    [[nodiscard]] bool busy() const noexcept override { return backend_.busy && backend_.busy(); }

   private:
    ArithmeticBackend& backend_;
    capture::NodeIndex end_ = ~capture::NodeIndex{0};  ///< nodes from here on do nothing
    std::vector<capture::NodeIndex> nodes_;
    std::vector<std::vector<std::byte>> records_;
  };

  std::string_view name() const noexcept override { return "arithmetic"; }
  backends::Capabilities capabilities(const capture::QueueInfo&) noexcept override {
    backends::Capabilities result;
    result.native = true;
    result.update_arguments = can_update;
    result.update_sizes = can_resize;
    result.update_functions = can_change_functions;
    result.simultaneous_use = simultaneous;
    return result;
  }
  backends::Recordable can_record(const OperationView& operation, const capture::QueueInfo&) noexcept override {
    return operation.kind() == OperationKind::kCopyImage ? backends::Recordable{false, "no images here"}
                                                         : backends::Recordable{};
  }
  backends::Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                          std::unique_ptr<backends::CommandBuffer>* result) noexcept override {
    if (fail_records > 0) {
      --fail_records;
      return {-6};
    }
    if (bad_moment) {
      return {-6, "not at this moment", true};
    }
    if (in_record) {
      in_record();
    }
    *result = std::make_unique<Buffer>(*this, graph, nodes);
    return {};
  }
  backends::Status issue(const OperationView& operation, std::span<const backends::Event>,
                         backends::Event* done) noexcept override {
    if (fails(fail_issues)) {
      return {-5};
    }
    run(operation, false);
    if (done != nullptr) {
      *done = new_event();
    }
    return {};
  }
  backends::Status flush(const capture::QueueInfo& queue) noexcept override {
    const std::lock_guard guard(mutex_);
    flushed_.push_back(queue.id);
    return {};
  }
  backends::Status finish(const capture::QueueInfo&) noexcept override { return {}; }
  void retain_event(backends::Event) noexcept override { ++live_events; }
  void release_event(backends::Event) noexcept override { --live_events; }
  bool complete(backends::Event) noexcept override { return true; }
  std::uint64_t size_of(capture::ArgumentKind, capture::Handle) noexcept override { return sizeof(std::uint64_t); }
  backends::Status read(const capture::QueueInfo&, capture::ArgumentKind, capture::Handle handle,
                        std::span<std::byte> into) noexcept override {
    const std::lock_guard guard(mutex_);
    std::memcpy(into.data(), &memory_[handle], into.size());
    return {};
  }
  backends::Status write(const capture::QueueInfo&, capture::ArgumentKind, capture::Handle handle,
                         std::span<const std::byte> from) noexcept override {
    const std::lock_guard guard(mutex_);
    std::memcpy(&memory_[handle], from.data(), from.size());
    return {};
  }
  [[nodiscard]] bool names_memory() const noexcept override { return !addresses; }
  [[nodiscard]] backends::MemoryInventory* shared_memory() noexcept override { return shared; }
  void forget_function(capture::FunctionId) noexcept override {}
  const char* error_name(int) const noexcept override { return "SOME_ERROR"; }

  /// Whether one of a kind fails now, of which so many are to.
  bool fails(std::atomic<int>& left) noexcept {
    if (left == 0) {
      return false;
    }
    if (spare > 0) {
      --spare;
      return false;
    }
    --left;
    return true;
  }

  backends::Event new_event() {
    ++live_events;
    return ++events_;
  }

 private:
  std::mutex mutex_;
  std::vector<Arrived> log_;
  std::vector<std::uint64_t> flushed_;
  std::vector<std::size_t> waited_;
  std::map<std::uint64_t, std::uint64_t> memory_;
  std::atomic<std::uint64_t> events_{0};
};

class TestHooks : public LayerHooks {
 public:
  explicit TestHooks(ArithmeticBackend& backend) : backend_(backend) {}
  Device device_of(const capture::QueueInfo& queue) override { return {"a device", "1", queue.device % 10}; }
  void fulfil(const OperationView& operation, backends::Event event, int status) noexcept override {
    const std::lock_guard guard(mutex);
    kept[operation.header().promise] = status;
    order.push_back(operation.header().promise);
    if (event != 0) {
      backend_.release_event(event);
    }
  }
  bool retain_objects(const OperationView& operation) noexcept override {
    if (freed != 0 && operation.header().function == freed) {
      return false;
    }
    ++retained;
    return true;
  }
  void release_objects(const OperationView&) noexcept override { --retained; }
  bool is_current(const OperationView& operation) noexcept override {
    return current && (outdated == 0 || operation.header().function != outdated);
  }
  bool watch_exit() noexcept override {
    ++exit_watches;
    return exit_watched;
  }
  void begin() noexcept override { ++begins; }
  bool may_hold() noexcept override { return holdable; }
  backends::Event acquire_event(capture::WaitRef wait) noexcept override {
    const std::lock_guard guard(mutex);
    waits.push_back(wait);
    if (in_acquire) {
      in_acquire();
    }
    return backend_.new_event();
  }
  std::string function_name(capture::FunctionId) noexcept override { return "affine"; }
  bool prints(capture::FunctionId function) noexcept override { return printing != 0 && function == printing; }

  bool current = true;
  capture::FunctionId outdated = 0;  ///< what is_current() does not hold of
  capture::FunctionId printing = 0;  ///< what prints() holds of
  capture::FunctionId freed = 0;     ///< whose objects are not there any more to be retained
  bool exit_watched = true;          ///< what watch_exit() answers
  bool holdable = true;              ///< what may_hold() answers
  std::function<void()> in_acquire;  ///< called when the event behind a wait is asked for
  int exit_watches = 0;
  int begins = 0;
  std::mutex mutex;
  std::map<std::uint64_t, int> kept;    ///< promise → status
  std::vector<std::uint64_t> order;     ///< promises as they were kept
  std::vector<capture::WaitRef> waits;  ///< whose events were asked for
  std::atomic<int> retained{0};

 private:
  ArithmeticBackend& backend_;
};

/// An engine over the backend, with one queue.
struct Rig {
  explicit Rig(const env::Settings& settings, bool can_update = false) {
    backend.can_update = can_update;
    engine = std::make_unique<Engine>(settings, backend, hooks, nullptr);
    queue.info.id = 1;
    queue.info.handle = 1;
    engine->adopt_queue(queue);
  }
  nlohmann::json report() { return nlohmann::json::parse(engine->report_json()); }

  ArithmeticBackend backend;
  TestHooks hooks{backend};
  std::unique_ptr<Engine> engine;
  QueueSlot queue;
};

/// The application's side: submits operations as a layer would.
class Program {
 public:
  Program(Engine& engine, ArithmeticBackend& backend, QueueSlot& queue)
      : engine_(engine), backend_(backend), queue_(queue) {}

  /// kernel `function` on `buffer` with `scalar`. Returns what the application would be told.
  int kernel(std::uint64_t function, std::uint64_t buffer, std::uint64_t scalar, std::uint64_t promise = 0,
             const char* unholdable = nullptr, capture::WaitRef wait = 0) {
    submitted.push_back({queue_.info.id, buffer, scalar, false});
    for (const std::uint64_t end = own_ns != 0 ? now_ns() + own_ns : 0; end != 0 && now_ns() < end;) {
    }
    Lane& lane = engine_.lane();
    if (const OperationView known = lane.predicted(); known && !ends) {
      ++asked;
      const bool same = promise == 0 && unholdable == nullptr && wait == 0 && known.header().function == function &&
                        known.header().queue == queue_.info.id && known.handle_of(0) == buffer;
      const auto write = [&](std::byte* record) {
        const auto value = OperationView(record).value_of(1);
        std::memcpy(record + (value.data() - record), &scalar, sizeof(scalar));
      };
      int error = 0;
      if (same &&
          (known.handle_of(1) == scalar ? lane.hold_predicted(&error) : lane.hold_predicted(&error, Change(write)))) {
        ++predicted;
        return error;
      }
      if (!same) {
        lane.mispredicted();
      }
    }
    engine_.flush_holder(queue_);
    const capture::Token token = capture::mix(function + 1, queue_.info.role + 17) | 1U;
    const auto describe = [&](capture::OperationWriter writer) {
      auto& header = writer.begin(OperationKind::kKernel, token);
      header.function = function;
      header.promise = promise;
      writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}});
      writer.argument_handle(capture::ArgumentKind::kBuffer, buffer, buffer);
      writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&scalar, 1)));
      if (wait != 0) {
        writer.wait(wait);
      }
      writer.finish();
    };
    switch (lane.submit({token, OperationKind::kKernel, &queue_, unholdable, ends})) {
      case Verdict::kHold: describe(lane.writer()); return lane.hold();
      case Verdict::kDescribeAndIssue: describe(lane.writer()); [[fallthrough]];
      case Verdict::kIssue: break;
    }
    if (refusal != 0) {
      submitted.pop_back();
      return lane.issued(refusal);
    }
    capture::RecordBytes bytes;
    describe(capture::OperationWriter(bytes));
    const std::uint64_t start = now_ns();
    reinterpret_cast<capture::OperationHeader*>(bytes.data())->queue = queue_.info.id;
    backend_.run(OperationView(bytes.data()), false);
    const std::uint64_t end = start + issue_cost_ns;
    while (now_ns() < end) {
    }
    return lane.issued(0, static_cast<std::uint32_t>(now_ns() - start));
  }
  /// Asks the driver to start what was submitted.
  int flush() {
    Lane& lane = engine_.lane();
    if (lane.predicted()) {
      lane.mispredicted();
    }
    engine_.flush_holder(queue_);
    const capture::Token token = capture::mix(0, queue_.info.role + 17) | 1U;
    const auto describe = [&](capture::OperationWriter writer) {
      writer.begin(OperationKind::kFlush, token);
      writer.finish();
    };
    switch (lane.submit({token, OperationKind::kFlush, &queue_, nullptr})) {
      case Verdict::kHold: describe(lane.writer()); return lane.hold();
      case Verdict::kDescribeAndIssue: describe(lane.writer()); [[fallthrough]];
      case Verdict::kIssue: break;
    }
    return lane.issued(backend_.flush(queue_.info).code);
  }
  int wait() {
    static const EntryPoint finish{"finish"};
    const int error = engine_.lane().host_call(finish);
    engine_.lane().host_call_done(finish, true);
    return error;
  }

  std::vector<Arrived> submitted;
  bool ends = false;         ///< of the next kernels: see Submission
  std::uint64_t own_ns = 0;  ///< busy time before each submission: the program's pace
  std::uint64_t issue_cost_ns = 0;
  int refusal = 0;    ///< what the driver says to what it is given at once, instead of doing it; 0: it does it
  int asked = 0;      ///< submissions that had to be compared with what was predicted
  int predicted = 0;  ///< that were held because they were what was predicted

 private:
  Engine& engine_;
  ArithmeticBackend& backend_;
  QueueSlot& queue_;
};

/// Nothing in it depends on how fast the test runs, but the gate.
inline env::Settings quiet(bool gate) {
  env::Settings settings;
  settings.gate = gate;
  settings.report = false;
  settings.chunk_max = 256;
  settings.hold_limit_us = 1'000'000;
  return settings;
}

/// `iterations` of a loop of `length` kernels and a wait; scalars as `scalar(iteration, kernel)` says.
template <class Scalar>
void loop(Rig& rig, Program& program, int iterations, int length, Scalar scalar) {
  for (int i = 0; i < iterations; ++i) {
    for (int k = 0; k < length; ++k) {
      REQUIRE(program.kernel(100 + k, 7 + k % 3, scalar(i, k)) == 0);
    }
    REQUIRE(program.wait() == 0);
    if (i % 4 == 0) {
      rig.engine->wait_idle();  // so that the test does not depend on how fast the background thread is
    }
  }
}

/// The scalars of a loop that always has the same arguments.
inline std::uint64_t constant(int /*iteration*/, int k) {
  return 1000 + static_cast<std::uint64_t>(k);
}

/// The scalar of kernel `k` in one of several sets of arguments.
inline std::uint64_t of_set(int set, int k) {
  return static_cast<std::uint64_t>(set) * 1000 + static_cast<std::uint64_t>(k);
}

}  // namespace refrain::replay::test
