// The reference executor: runs operations on the CPU in host memory, in dependency order.
//
// For tests. Kernels are C++ functions registered by FunctionId; buffers and images live in host memory.
// It is strict where drivers are lenient (use after release, unknown functions, append after finalize are
// errors) and can be told to misbehave: refuse kinds, fail the n-th call of a function, complete work
// only when asked to. Everything is thread-safe unless it says otherwise.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"

namespace refrain::backends::host {

enum Error : int {
  kSuccess = 0,
  kOutOfMemory = -1,
  kInvalidHandle = -2,  ///< unknown or released buffer, image or pointer
  kUnknownFunction = -3,
  kInvalidOperation = -4,  ///< e.g. append after finalize, second finalize, enqueue while busy
  kInvalidValue = -5,      ///< offsets, sizes, malformed records
  kUnsupported = -6,       ///< this kind cannot be recorded or issued
  kInvalidEvent = -7,
  kWaitFailed = -8,  ///< an event waited for ended with an error
};

struct Memory;

/// What a kernel sees of its launch. Called once per launch, not once per work item.
class KernelCall {
 public:
  KernelCall(const capture::OperationView& operation, std::span<const std::shared_ptr<Memory>> memory) noexcept
      : operation_(operation), memory_(memory) {}
  [[nodiscard]] std::uint64_t global_size(int dimension) const noexcept {
    return operation_.as<capture::words::Kernel>().global[static_cast<std::size_t>(dimension)];
  }
  [[nodiscard]] std::uint64_t offset(int dimension) const noexcept {
    return operation_.as<capture::words::Kernel>().offset[static_cast<std::size_t>(dimension)];
  }
  /// The memory behind a buffer, image or pointer argument (pointers: from the pointer to the end).
  [[nodiscard]] std::span<std::byte> bytes(std::size_t argument) const;
  template <typename T>
  [[nodiscard]] std::span<T> buffer(std::size_t argument) const {
    const auto all = bytes(argument);
    return {reinterpret_cast<T*>(all.data()), all.size() / sizeof(T)};
  }
  template <typename T>
  [[nodiscard]] T value(std::size_t argument) const {
    T result{};
    const auto stored = operation_.value_of(argument);
    std::memcpy(&result, stored.data(), std::min(sizeof(T), stored.size()));
    return result;
  }
  [[nodiscard]] const capture::OperationView& operation() const noexcept { return operation_; }

 private:
  capture::OperationView operation_;
  std::span<const std::shared_ptr<Memory>> memory_;  // one per argument, null where there is none
};

/// Must not call the backend.
using Kernel = std::function<void(const KernelCall&)>;

/// Functions whose n-th call can be made to fail, and that are logged.
enum class Call : std::uint8_t { kRecord, kEnqueue, kUpdate, kIssue, kFlush, kFinish, kRead, kWrite };
inline constexpr std::size_t kCallCount = 8;

struct LogEntry {
  Call call = Call::kIssue;
  int status = 0;
  capture::ObjectId queue = 0;
  capture::OperationKind kind = capture::OperationKind::kUnknown;  ///< kIssue
  std::uint64_t sequence = 0;                                      ///< kIssue: of the record
  std::uint32_t nodes = 0;                                         ///< kRecord, kEnqueue, kUpdate
};

/// A command buffer being built by hand: what HostBackend::record() does, step by step, with the errors
/// of the native entry points. Used by one thread.
class HostCommandBuffer : public CommandBuffer {
 public:
  ~HostCommandBuffer() override;
  /// Adds a command that comes after `waits` (numbers of earlier commands); its number is in `number`.
  /// Copies the record, retains its objects. kInvalidOperation once finalized.
  Status append(const capture::OperationView& operation, std::span<const std::uint32_t> waits,
                std::uint32_t* number) noexcept;
  /// kInvalidOperation the second time.
  Status finalize() noexcept;
  Status enqueue(std::span<const Event> waits, Event* done) noexcept override;
  /// NodeUpdate::node: the node number given at recording, or the number from append().
  Status update(std::span<const NodeUpdate> updates) noexcept override;
  [[nodiscard]] bool busy() const noexcept override;

 private:
  friend class HostBackend;
  struct Command;
  struct Commands;
  HostCommandBuffer(class HostBackend& backend, const capture::QueueInfo& queue);
  class HostBackend& backend_;
  capture::QueueInfo queue_;
  std::shared_ptr<const Commands> commands_;  // replaced by update(), so that running submissions keep theirs
  std::shared_ptr<std::uint32_t> running_;    // submissions not complete yet; guarded by the backend's lock
  std::map<capture::NodeIndex, std::uint32_t> number_of_node_;
  bool finalized_ = false;
};

class HostBackend : public Backend {
 public:
  HostBackend();
  ~HostBackend() override;
  HostBackend(const HostBackend&) = delete;
  HostBackend& operator=(const HostBackend&) = delete;

  // --- What the device is -------------------------------------------------------------------------
  /// What capabilities() answers for every queue. Default: everything is supported.
  void set_capabilities(const Capabilities& capabilities);
  void add_function(capture::FunctionId function, Kernel kernel);

  // --- Memory. Handles are never reused. -----------------------------------------------------------
  [[nodiscard]] capture::Handle add_buffer(std::size_t bytes);
  /// Elements of 4 bytes (RGBA, 8 bits each) or 16 bytes (four 32-bit words).
  [[nodiscard]] capture::Handle add_image(std::size_t element_bytes, std::size_t width, std::size_t height = 1,
                                          std::size_t depth = 1);
  /// Memory that operations name by pointer.
  [[nodiscard]] void* add_allocation(std::size_t bytes);
  /// The application's reference goes; command buffers keep theirs. False if already released.
  bool release(capture::Handle handle);
  bool release_allocation(void* pointer);
  /// Contents, for reading and writing while nothing runs. Empty if unknown or released.
  [[nodiscard]] std::span<std::byte> bytes(capture::Handle handle);

  // --- Time ----------------------------------------------------------------------------------------
  /// Off (default): work is done inside the call that submits it, if the events it waits for are complete.
  /// On: work is done by advance(), run_all(), finish() and blocking operations only.
  void set_asynchronous(bool on);
  /// Asynchronous only: work of a queue may start only after flush() or finish(). Default off.
  void set_needs_flush(bool on);
  /// Order of execution where dependencies leave a choice: 0 (default): order of submission, else random.
  void set_schedule(std::uint32_t seed);
  /// Does one piece of submitted work that may run now (one operation or one command buffer). False if there
  /// is none.
  bool advance();
  /// Until advance() finds nothing. Returns how much was done.
  std::size_t run_all();
  /// An event that completes when complete_event() is called (one reference for the caller).
  [[nodiscard]] Event make_event();
  void complete_event(Event event, bool failed = false);

  // --- Failures and what happened --------------------------------------------------------------------
  /// The `nth` call from now (1: the next) of `call` returns `code` without doing anything.
  void fail(Call call, std::uint64_t nth, int code);
  [[nodiscard]] std::uint64_t calls(Call call) const;
  [[nodiscard]] std::vector<LogEntry> log() const;
  /// Objects not given back: events (references), command buffers, memory (released memory that command
  /// buffers or running work still hold included).
  [[nodiscard]] std::size_t live_events() const;
  [[nodiscard]] std::size_t live_command_buffers() const;
  [[nodiscard]] std::size_t live_memory() const;
  /// Work submitted and not done.
  [[nodiscard]] std::size_t pending() const;

  /// An empty command buffer to be built by hand.
  [[nodiscard]] std::unique_ptr<HostCommandBuffer> create_command_buffer(const capture::QueueInfo& queue);

  // --- Backend ---------------------------------------------------------------------------------------
  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }
  [[nodiscard]] Capabilities capabilities(const capture::QueueInfo& queue) noexcept override;
  Recordable can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept override;
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                std::unique_ptr<CommandBuffer>* result) noexcept override;
  /// Queues are known from the operations: a queue is in-order unless declare_queue() said otherwise.
  Status issue(const capture::OperationView& operation, std::span<const Event> waits, Event* done) noexcept override;
  void declare_queue(const capture::QueueInfo& queue);
  Status flush(const capture::QueueInfo& queue) noexcept override;
  Status finish(const capture::QueueInfo& queue) noexcept override;
  void retain_event(Event event) noexcept override;
  void release_event(Event event) noexcept override;
  [[nodiscard]] bool complete(Event event) noexcept override;
  [[nodiscard]] std::uint64_t size_of(capture::ArgumentKind kind, capture::Handle handle) noexcept override;
  Status read(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
              std::span<std::byte> into) noexcept override;
  Status write(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
               std::span<const std::byte> from) noexcept override;
  void forget_function(capture::FunctionId function) noexcept override;
  [[nodiscard]] const char* error_name(int code) const noexcept override;

 private:
  friend class HostCommandBuffer;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace refrain::backends::host
