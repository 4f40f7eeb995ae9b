// An API whose driver does nothing but write down what it is asked, and a layer for it: for tests of what the layers of
// all APIs with streams have in common.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/streams/graph_uploader.h"
#include "backends/streams/host_stream_memory.h"
#include "backends/streams/stream_backend.h"
#include "layer/immortal.h"
#include "layer/streams/hooks.h"
#include "layer/streams/launch.h"
#include "layer/streams/setters.h"
#include "layer/streams/waits.h"
#include "replay/engine.h"
#include "test/support/meeting.h"

namespace refrain::layer::streams::test {

using StreamHandle = struct StreamTag*;
using ContextHandle = struct ContextTag*;
using EventHandle = struct EventTag*;

using Lines = std::vector<std::string>;

template <class Tag>
std::string name(Tag* handle) {
  return std::to_string(handle_of(handle));
}

/// A handle that no test had before.
template <class Tag>
Tag* new_handle() {
  static std::atomic<std::uintptr_t> last{0x1000};
  return reinterpret_cast<Tag*>(last += 0x10);
}

/// What the driver knows and was asked. Thread-safe, but for what a test sets.
class Device {
 public:
  static constexpr int kRefused = 701;

  void did(const std::string& what) {
    const std::lock_guard guard(mutex_);
    lines_.push_back(what);
  }
  Lines lines() {
    const std::lock_guard guard(mutex_);
    return lines_;
  }
  [[nodiscard]] std::ptrdiff_t count(const std::string& line) {
    const Lines all = lines();
    return std::count(all.begin(), all.end(), line);
  }
  void forget_lines() {
    const std::lock_guard guard(mutex_);
    lines_.clear();
  }
  int submit(const std::string& what) {
    if (cancels) {
      pthread_testcancel();
    }
    if (refusals > 0) {
      --refusals;
      return kRefused;
    }
    did(what);
    return 0;
  }

  std::atomic<int> graphs{0};        ///< so many were launched
  std::atomic<int> refusals{0};      ///< so many submissions of single operations are refused
  std::atomic<int> unfinished{0};    ///< so many questions about events are answered with "not ready"
  std::atomic<bool> cancels{false};  ///< threads may be cancelled where they submit
  std::set<StreamHandle> busy;       ///< streams that are never done
  backends::Allocation allocation;

 private:
  std::mutex mutex_;
  Lines lines_;
};

struct TestApi {
  struct Driver {
    Device* device = nullptr;
  };
  struct Graph {
    Lines lines;
  };
  using Status = int;
  using StreamHandle = test::StreamHandle;
  using ContextHandle = test::ContextHandle;
  using EventHandle = test::EventHandle;
  using GraphHandle = Graph*;
  using NodeHandle = std::size_t;
  using ExecHandle = Graph*;
  using Uploader = backends::StreamGraphUploader<TestApi>;
  using Memory = backends::HostStreamMemory<TestApi>;

  static constexpr Status kSuccess = 0, kOutOfMemory = 2, kInvalidHandle = 400, kNotReady = 600, kNotSupported = 801,
                          kCaptureUnmatched = 903, kCaptureWrongThread = 908;
  static constexpr ContextHandle kNoContext = nullptr;
  static constexpr bool kStreamAttributes = true, kCopiesBetweenDevices = true, kRowsOfDeviceOnly = false,
                        kUpdatesFunctions = true;

  struct Scope {
    Scope(const Driver& /*driver*/, ContextHandle /*context*/) noexcept {}
    [[nodiscard]] static Status status() noexcept { return kSuccess; }
  };
  struct RelaxedCapture {
    explicit RelaxedCapture(const Driver& /*driver*/) noexcept {}
  };

  static std::string line_of(const capture::OperationView& operation) {
    switch (operation.kind()) {
      case OperationKind::kKernel: return "kernel " + std::to_string(operation.header().function_handle);
      default: return "something else";
    }
  }
  class Node {
   public:
    Status add(const Driver& /*driver*/, Graph* graph, std::span<const NodeHandle> /*before*/,
               ContextHandle /*context*/, const capture::OperationView& operation) {
      graph->lines.push_back(line_of(operation));
      handle_ = graph->lines.size();
      return kSuccess;
    }
    static Status change(const Driver& /*driver*/, Graph* /*graph*/, ContextHandle /*context*/,
                         const capture::OperationView& /*operation*/) {
      return kSuccess;
    }
    [[nodiscard]] NodeHandle handle() const noexcept { return handle_; }
    [[nodiscard]] bool empty() const noexcept { return handle_ == 0; }

   private:
    NodeHandle handle_ = 0;
  };

  static StreamHandle legacy_stream() noexcept { return nullptr; }
  static StreamHandle per_thread_stream() noexcept { return reinterpret_cast<StreamHandle>(2); }
  static Status create_event(const Driver& /*driver*/, EventHandle* event) {
    *event = new_handle<EventTag>();
    return kSuccess;
  }
  static Status destroy_event(const Driver& /*driver*/, EventHandle /*event*/) { return kSuccess; }
  static Status record_event(const Driver& driver, EventHandle event, StreamHandle stream) {
    driver.device->did("record " + name(event) + " in " + name(stream));
    return kSuccess;
  }
  static Status wait_event(const Driver& driver, StreamHandle stream, EventHandle event) {
    driver.device->did(name(stream) + " waits for " + name(event));
    return kSuccess;
  }
  static Status query_event(const Driver& driver, EventHandle /*event*/) {
    return driver.device->unfinished.fetch_sub(1) > 0 ? kNotReady : kSuccess;
  }
  static Status query_stream(const Driver& driver, StreamHandle stream) {
    return driver.device->busy.contains(stream) ? kNotReady : kSuccess;
  }
  static Status synchronize(const Driver& /*driver*/, StreamHandle /*stream*/) { return kSuccess; }
  static Status create_stream(const Driver& /*driver*/, StreamHandle* stream) {
    *stream = new_handle<StreamTag>();
    return kSuccess;
  }
  static Status create_blocking_stream(const Driver& driver, StreamHandle* stream) {
    return create_stream(driver, stream);
  }
  static Status create_graph(const Driver& /*driver*/, Graph** graph) {
    *graph = new Graph;
    return kSuccess;
  }
  static Status instantiate(const Driver& /*driver*/, Graph** executable, const Graph* graph) {
    *executable = new Graph(*graph);
    return kSuccess;
  }
  static Status upload(const Driver& /*driver*/, Graph* /*executable*/, StreamHandle /*stream*/) { return kSuccess; }
  static Status launch(const Driver& driver, const Graph* executable, StreamHandle stream) {
    ++driver.device->graphs;
    for (const std::string& line : executable->lines) {
      driver.device->did(line + " in " + name(stream));
    }
    return kSuccess;
  }
  static Status destroy_executable(const Driver& /*driver*/, const Graph* executable) {
    delete executable;
    return kSuccess;
  }
  static Status destroy_graph(const Driver& /*driver*/, const Graph* graph) {
    delete graph;
    return kSuccess;
  }
  static Status copy(const Driver& /*driver*/, std::uint64_t /*to*/, std::uint64_t /*from*/, std::size_t /*bytes*/,
                     StreamHandle /*stream*/) {
    return kNotSupported;
  }
  static Status submit(const Driver& driver, const capture::OperationView& operation, StreamHandle stream) {
    return driver.device->submit(line_of(operation) + " in " + name(stream));
  }
  static bool find_allocation(const Driver& driver, std::uint64_t address, backends::Allocation* found) noexcept {
    *found = driver.device->allocation;
    return address >= found->start && address < found->start + found->bytes;
  }
  static backends::Reach reach(const Driver& /*driver*/, std::uint64_t /*address*/) noexcept {
    return backends::Reach::kWrites;
  }
  static int device_of(const Driver& /*driver*/, ContextHandle /*context*/) noexcept { return 0; }
  static const char* error_name(const Driver& /*driver*/, Status /*status*/) noexcept { return "AN_ERROR"; }
};

class TestBackend final : public backends::StreamBackend<TestApi> {
 public:
  explicit TestBackend(const TestApi::Driver& driver) : StreamBackend(driver, nullptr) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
};

/// What the templates need of a layer. Those that have a state of their own for each layer begin afresh with a class
/// that inherits from this one.
struct TestLayer {
  using Api = TestApi;
  static inline StreamRuntime<Api> the_runtime;
  static inline thread_local ContextHandle current = nullptr;  ///< context of the thread
  static inline std::vector<int> held_errors;                  ///< that on_held_error() was told of

  static StreamRuntime<Api>& runtime() noexcept { return the_runtime; }
  static replay::Engine* any_engine() noexcept { return the_runtime.engine.load(); }
  static replay::Engine* engine() noexcept {
    replay::Engine* const found = any_engine();
    return found != nullptr && found->active() ? found : nullptr;
  }
  static Objects<Api>& objects() noexcept {
    static Immortal<Objects<Api>> all;  // threads keep what they found last
    return *all;
  }
  static void notify_recorder(const StreamState<Api>& /*stream*/, const replay::EntryPoint& /*entry_point*/,
                              const capture::OperationView& /*operation*/) noexcept {}
  static void on_hold(int /*status*/) noexcept {}
  static void on_success() noexcept {}
  static void on_held_error(int status) { held_errors.push_back(status); }
  static bool is_stream(const backends::Stream<Api>& known, StreamHandle handle,
                        DefaultStream /*by_default*/) noexcept {
    return known.handle == handle;
  }
  static bool describe(backends::Stream<Api>& stream, StreamHandle handle, backends::StreamKind kind) noexcept {
    stream.handle = handle;
    stream.kind = kind;
    stream.context = current;
    return true;
  }
  static std::uint64_t default_stream_key(StreamHandle handle, DefaultStream by_default) noexcept {
    return is_legacy(handle_of(handle), by_default) ? handle_of(current) | kLegacyKey
                                                    : per_thread_key(handle_of(current));
  }
  static bool describe_memory(std::uint64_t /*address*/, backends::LiveMemory* /*found*/) noexcept { return false; }
  static void ask_variables_again() noexcept {}
  static int free_in_order(std::uint64_t address, StreamHandle stream) {
    return the_runtime.driver.device->submit("free " + std::to_string(address) + " in " + name(stream));
  }
  static std::uint64_t id_to_free(std::uint64_t /*address*/) noexcept { return 0; }
  /// What is allocated meanwhile waits for no other stream: lines of the device say so.
  struct WithoutPoolWaits {
    WithoutPoolWaits(const std::uint64_t* /*pool*/, ContextHandle /*context*/) {
      the_runtime.driver.device->submit("no waits");
    }
    ~WithoutPoolWaits() { the_runtime.driver.device->submit("waits"); }
  };
  static ContextHandle current_context() noexcept { return current; }
  static std::uint64_t context_number(ContextHandle context) noexcept { return handle_of(context); }
  static replay::LayerHooks::Device device_of(ContextHandle /*context*/) { return {"a device", "1"}; }
  static ObjectId device_id(ContextHandle /*context*/, ObjectId otherwise) noexcept { return otherwise; }
  static void forget_functions(std::uint64_t /*module*/) noexcept {}
  static void forget_contexts() noexcept {}
  static const FunctionState* function_of(Handle handle) noexcept { return objects().functions.find(handle); }
  static inline bool one_handle = false;  ///< each kernel's
  static bool has_one_handle(Handle /*function*/) noexcept { return one_handle; }
  static void find_limits(FunctionState& /*function*/, Handle /*handle*/) noexcept {}
  static std::string name_of_function(capture::FunctionId /*function*/) { return "kernel"; }
};

using State = StreamState<TestApi>;

inline constexpr replay::EntryPoint kLaunch{"launch"}, kRecord{"record"}, kWaitFor{"wait for an event"}, kWait{"wait"},
    kHostCall{"a host call"};

/// A program, the driver and what is between them.
class Rig {
 public:
  explicit Rig(const env::Settings& settings = quiet()) {
    TestLayer::the_runtime.driver.device = &device;
    TestLayer::the_runtime.replays = true;
    TestLayer::the_runtime.backend = &backend;
    TestLayer::held_errors.clear();
    engine = std::make_unique<replay::Engine>(settings, backend, hooks, nullptr);
    TestLayer::the_runtime.engine.store(engine.get());
    enter();
  }
  ~Rig() {
    engine->shut_down();
    TestLayer::the_runtime.engine.store(nullptr);
    engine.reset();
    TestLayer::the_runtime.backend = nullptr;
    forget_proxies<TestApi>();
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  /// Nothing depends on how fast the test runs.
  static env::Settings quiet() {
    env::Settings settings;
    settings.gate = false;
    settings.report = false;
    settings.hold_limit_us = 1'000'000;
    return settings;
  }

  /// The calling thread has the context from now on.
  void enter() const noexcept { TestLayer::current = context; }

  static State& stream() {
    auto* const handle = new_handle<StreamTag>();
    State* made = StreamTable<TestLayer>::all().adopt(handle_of(handle), handle, backends::StreamKind::kNonBlocking);
    REQUIRE(made != nullptr);
    return *made;
  }
  /// The default stream of the calling thread in its current context.
  static State& own_default_stream() {
    State* made = StreamTable<TestLayer>::all().adopt(per_thread_key(handle_of(TestLayer::current)),
                                                      TestApi::per_thread_stream(), backends::StreamKind::kPerThread);
    REQUIRE(made != nullptr);
    return *made;
  }
  static FunctionState& kernel() {
    FunctionState* const made = TestLayer::objects().functions.make();
    REQUIRE(made != nullptr);
    made->id = next_object_id();
    made->add_parameter(sizeof(std::uint64_t), 0);
    made->end_parameters();
    TestLayer::objects().functions.insert(made, handle_of(new_handle<struct FunctionTag>()));
    return *made;
  }
  static EventHandle event() {
    auto* const made = new_handle<EventTag>();
    watch_event<TestLayer>(made);
    return made;
  }

  // Calls of the program.
  int launch(State& stream, FunctionState& kernel) {
    std::uint64_t value = 7;
    void* parameters[] = {&value};
    const Launch launch{kLaunch, kernel.handle, {1, 1, 1}, {32, 1, 1}, 0, parameters, {}, nullptr, {}};
    const auto issue = [&] {
      ++own_calls;
      return device.submit(line(stream, kernel));
    };
    int status = 0;
    if ((predicts() && hold_predicted<TestLayer>(launch, stream.stream.handle, DefaultStream::kLegacy, &status)) ||
        short_way<TestLayer>(kLaunch, {stream.stream.handle, DefaultStream::kLegacy}, &status, issue)) {
      return status;
    }
    return launch_kernel<TestLayer>(launch, 0, &stream, &kernel, issue);
  }
  int record(EventHandle event, State& stream) {
    return record_event<TestLayer>(
        kRecord, event, [&] { return &stream; }, 0,
        [&] {
          ++own_calls;
          return TestApi::record_event(TestLayer::the_runtime.driver, event, stream.stream.handle);
        });
  }
  int wait_for(State& stream, EventHandle event) {
    return wait_event<TestLayer>(
        kWaitFor, [&] { return &stream; }, event, 0,
        [&] {
          ++own_calls;
          return TestApi::wait_event(TestLayer::the_runtime.driver, stream.stream.handle, event);
        });
  }
  /// For everything.
  static int wait() {
    return observe<TestLayer>(kWait, true, [] { return 0; });
  }
  /// `work()` again and again, each time with a wait behind it, until it is replayed if it can be.
  template <class Work>
  void loop(Work&& work) {
    for (int round = 0; round < 30; ++round) {
      work();
      REQUIRE(wait() == 0);
      engine->wait_idle();
    }
  }
  static std::string line(const State& stream, const FunctionState& kernel) {
    return "kernel " + std::to_string(kernel.handle) + " in " + name(stream.stream.handle);
  }

  ContextHandle context = new_handle<ContextTag>();
  Device device;
  TestBackend backend{TestLayer::the_runtime.driver};
  Hooks<TestLayer> hooks;
  std::unique_ptr<replay::Engine> engine;
  int own_calls = 0;  ///< of the driver, for a submission at the moment that the program made it
};

/// Another thread, which does something and then stands still until the end of the test.
class Standing {
 public:
  template <class Work>
  Standing(const Rig& rig, Work work)
      : thread_([this, &rig, work] {
          rig.enter();
          work();
          done_.release();
          end_.acquire();
        }) {
    done_.acquire();
  }
  ~Standing() {
    end_.release();
    thread_.join();
  }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

 private:
  refrain::test::Semaphore done_{0}, end_{0};
  std::thread thread_;
};

/// A stretch of kernels in one stream, which is replayed once it was submitted in a loop.
struct Stretch {
  explicit Stretch(Rig& its_rig) : Stretch(its_rig, Rig::stream()) {}
  Stretch(Rig& its_rig, State& its_stream) : rig(its_rig), stream(its_stream) {
    for (int i = 0; i < 8; ++i) {
      kernels.push_back(&Rig::kernel());
    }
  }
  void submit(std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) {
      REQUIRE(rig.launch(stream, *kernels[i]) == 0);
    }
  }
  /// Learns it, and then submits the first ones, which are held.
  void hold(std::size_t some = 3) const {
    rig.loop([this] { submit(0, kernels.size()); });
    submit(0, some);
    REQUIRE(rig.engine->anything_held());
  }

  Rig& rig;
  State& stream;
  std::vector<FunctionState*> kernels;
};

}  // namespace refrain::layer::streams::test
