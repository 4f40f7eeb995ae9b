// What a program does on a GPU, whichever API it is written for: queues, memory, kernels, copies, fills, events, host
// functions, graphs of its own, questions and waits. One folder per API implements it with that API's plain calls, as
// a user would write them; a program links one of them. There is no Refrain in here.
//
// Errors: the first call that fails ends the process with "error N from CALL" on stdout and exit code 3, as small
// programs do. Threads: every function may be called by any thread that has called enter_thread(); one object is
// used by one thread at a time, events may be waited for by several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace portable {

using Word = std::uint32_t;

enum class QueueKind : std::uint8_t {
  kInOrder,     ///< ordered with nothing else
  kBlocking,    ///< waits for the default queue, and is waited for by it
  kDefault,     ///< the one everybody has
  kThreadsOwn,  ///< the one that each thread has, another one in each; else like kBlocking
  kOutOfOrder,  ///< ordered by events and barriers only
};
/// Whether the default queue and queues of this kind wait for each other.
inline bool blocks(QueueKind kind) noexcept {
  return kind == QueueKind::kBlocking || kind == QueueKind::kThreadsOwn;
}

enum class Place : std::uint8_t {
  kDevice,
  kPinned,  ///< the host may read and write it while nothing on the device uses it: host()
};

/// What an API may be unable to express.
enum class Feature : std::uint8_t {
  kBlockingQueue,  ///< QueueKind::kBlocking, kDefault and kThreadsOwn
  kOutOfOrder,     ///< QueueKind::kOutOfOrder
  kHostFunction,   ///< host_function()
  kFreeInOrder,    ///< allocate_in_order() and release_in_order()
  kOwnGraph,       ///< begin_graph() to launch(graph)
  kGraphFill,      ///< fills in a graph of one's own
  kRectangle,      ///< copy_rectangle()
  kWidePattern,    ///< fills with patterns of more than 4 bytes
  kOddPattern,     ///< fills with patterns of any size, 3 and 12 bytes as well
  kTimedEvent,     ///< make_event(true) and elapsed()
  kPrefetch,       ///< prefetch()
  kWriteValue,     ///< write_value()
  kQueryQueue,     ///< done(queue)
  kPointerOffset,  ///< memory arguments of kernels that begin in the middle
  kWriteIsCopied,  ///< write() has copied pageable memory when it returns, without having waited for the work
  kReleaseWaits,   ///< release(memory) waits for what uses it, or keeps the memory that long
  kReleaseQueue,   ///< release(queue) lets what is in it go on
  kGraphInFlight,  ///< a graph of one's own is launched again while it runs
  kGate,           ///< close() and open(gate)
  kGateByQueue,    ///< open(queue, gate)
  kSetter,         ///< set() and launch_seen()
};
inline constexpr int kFeatures = 20;
/// "kernel arguments that begin in the middle of memory".
const char* name_of(Feature feature) noexcept;

// What handles point to is the implementation's.
struct Queue {
  QueueKind kind = QueueKind::kInOrder;
  int device = 0;  ///< see Device::use_device()
};
struct Memory {
  Place place = Place::kDevice;
  int device = 0;
  std::size_t bytes = 0;
};
struct Event {};
struct Kernel {};
struct Graph {};
/// Makes a queue wait for something that comes later: for the host, or for another queue.
struct Gate {};

/// `offset` bytes into `memory`.
struct Range {
  Memory* memory = nullptr;
  std::size_t offset = 0;
};

/// `height` rows of `width` bytes, `pitch` bytes from one to the next, from `offset`; `depth` slices of them,
/// `slice_pitch` bytes apart.
struct Rectangle {
  Memory* memory = nullptr;
  std::size_t offset = 0;
  std::size_t pitch = 0;
  std::size_t slice_pitch = 0;
};
struct Extent {
  std::size_t width = 0, height = 1, depth = 1;
};

/// An argument of a kernel: memory, or the bytes of a value. Values are borrowed until the launch returned.
struct Argument {
  Memory* memory = nullptr;
  std::size_t offset = 0;
  const void* value = nullptr;
  std::size_t bytes = 0;
};
inline Argument argument(Memory* memory, std::size_t offset = 0) {
  return {memory, offset, nullptr, 0};
}
template <class T>
requires(!std::is_pointer_v<T>) Argument argument(const T& value) {
  return {nullptr, 0, &value, sizeof(T)};
}

/// What a submission comes after besides what its queue says, and the event that it completes.
struct Order {
  std::span<Event* const> after;
  Event* event = nullptr;
};

class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual const char* api() const noexcept = 0;
  /// Null if the API can express it; else why not, for users to read.
  [[nodiscard]] virtual const char* cannot(Feature feature) const noexcept = 0;
  /// Before any other call of a thread; the thread that made the device has done it.
  virtual void enter_thread() = 0;

  /// How many devices there are, one or two. Kernels, events, gates and pinned memory are for both.
  [[nodiscard]] virtual int devices() const noexcept { return 1; }
  /// Queues and memory that this thread makes from now on are of that device; at first of number 0.
  virtual void use_device(int /*number*/) {}
  /// Kernels may use the other device's memory from now on; until then only copies may.
  virtual void allow_peers() {}

  virtual Queue* make_queue(QueueKind kind) = 0;
  /// What is in it goes on.
  virtual void release(Queue* queue) = 0;
  /// Contents are not defined.
  virtual Memory* allocate(Place place, std::size_t bytes) = 0;
  virtual void release(Memory* memory) = 0;
  virtual Memory* allocate_in_order(Queue* queue, std::size_t bytes) = 0;
  virtual void release_in_order(Queue* queue, Memory* memory) = 0;
  /// How much there is, say. Nothing depends on the answer.
  virtual void ask_of_memory(unsigned /*which*/) {}
  /// Of pinned memory.
  virtual std::byte* host(Memory* memory) = 0;
  /// May be recorded and waited for any number of times; a wait means the last record.
  virtual Event* make_event(bool timed = false) = 0;
  virtual void release(Event* event) = 0;
  /// "scale", "mix_in", "odd", "wide", "store", "busy"; see kernels.h. Used by one thread at a time.
  virtual Kernel* find_kernel(const char* name) = 0;
  virtual void release(Kernel* kernel) = 0;

  virtual void launch(Queue* queue, Kernel* kernel, unsigned threads, std::span<const Argument> arguments,
                      const Order& order = {}) = 0;
  virtual void copy(Queue* queue, Range to, Range from, std::size_t bytes, const Order& order = {}) = 0;
  virtual void copy_rectangle(Queue* queue, const Rectangle& to, const Rectangle& from, const Extent& extent,
                              const Order& order = {}) = 0;
  /// `bytes` is a multiple of the pattern's size.
  virtual void fill(Queue* queue, Range to, std::span<const std::byte> pattern, std::size_t bytes,
                    const Order& order = {}) = 0;
  /// From pageable memory, which may be changed as soon as the call returned.
  virtual void write(Queue* queue, Range to, const void* from, std::size_t bytes, const Order& order = {}) = 0;
  /// Into pageable memory; waits.
  virtual void read(Queue* queue, void* to, Range from, std::size_t bytes, const Order& order = {}) = 0;
  /// `function` must not call the API.
  virtual void host_function(Queue* queue, void (*function)(void*), void* data, const Order& order = {}) = 0;
  /// To the device, from an offset that is a multiple of 8; from any other to the host, or, where there is only one
  /// direction, as advice.
  virtual void prefetch(Queue* queue, Range what, std::size_t bytes, const Order& order = {}) = 0;
  /// Into pinned memory, by the queue itself.
  virtual void write_value(Queue* /*queue*/, Range /*to*/, Word /*value*/, const Order& /*order*/ = {}) {}
  virtual void record(Queue* queue, Event* event) = 0;
  virtual void wait(Queue* queue, Event* event) = 0;
  /// Later work of the queue comes after all its earlier work.
  virtual void barrier(Queue* queue) = 0;
  virtual void flush(Queue* queue) = 0;

  [[nodiscard]] virtual bool done(Event* event) = 0;
  [[nodiscard]] virtual bool done(Queue* queue) = 0;
  virtual void synchronize(Event* event) = 0;
  virtual void synchronize(Queue* queue) = 0;
  virtual void synchronize() = 0;
  /// Milliseconds between two timed events that are complete.
  virtual float elapsed(Event* from, Event* to) = 0;
  /// A call that the driver refuses, one of a few; perhaps with `memory`, which stays as it is. The code of the error.
  virtual int refused(Queue* queue, Memory* memory, unsigned which) = 0;
  /// Sets one of a few things that change how later launches of the kernel "seen" behave, or, without `all_queues`,
  /// such launches in `queue`. All queues share the rest with other threads.
  virtual void set(Queue* queue, bool all_queues, unsigned which, unsigned value) = 0;
  /// Launches the kernel "seen", which mixes what was set into `x`, with so much dynamic shared memory. The code of the
  /// error if the driver refuses that, 0 if not. `version`, where there are several: one of kVersions kernels of one
  /// name, which says as well which it is.
  virtual int launch_seen(Queue* queue, unsigned shared_bytes, Memory* x, const Order& order = {},
                          unsigned version = 0) = 0;
  static constexpr unsigned kVersions = 24;
  /// Something that programs ask all the time and that has nothing to do with work.
  virtual void ask_something() = 0;

  /// What comes for `queue` until end_graph() (launches, copies, fills, without Order) becomes a graph, and is not run.
  virtual void begin_graph(Queue* queue) = 0;
  virtual Graph* end_graph(Queue* queue) = 0;
  virtual void launch(Queue* queue, Graph* graph, const Order& order = {}) = 0;
  virtual void release(Graph* graph) = 0;

  /// `by_queue`: queues open it, or the host; else only the host.
  virtual Gate* make_gate(bool by_queue) = 0;
  /// Later work of the queue, which is in order, waits until the gate has been opened as often as it was closed. It is
  /// closed by one thread, and not again before it was opened.
  virtual void close(Queue* queue, Gate* gate) = 0;
  /// When the queue comes to it.
  virtual void open(Queue* queue, Gate* gate) = 0;
  /// At once, if it is closed. This and is_open(): any thread.
  virtual void open(Gate* gate) = 0;
  [[nodiscard]] virtual bool is_open(Gate* gate) = 0;
  /// Nothing waits for it any more.
  virtual void release(Gate* gate) = 0;
};

/// The one that this program is linked with.
std::unique_ptr<Device> make_device();

// What is easier to write.
template <class... Arguments>
void launch(Device& device, Queue* queue, Kernel* kernel, unsigned threads, const Order& order,
            const Arguments&... arguments) {
  const Argument list[] = {argument(arguments)...};
  device.launch(queue, kernel, threads, list, order);
}

}  // namespace portable
