// What CUDA and HIP have in common: contexts, streams with their default streams, events, captures, graphs, and
// functions of modules. All of it is read and changed under the lock. Handles are addresses of these objects.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "test/sim/core/graph.h"
#include "test/sim/core/handles.h"
#include "test/sim/core/memory.h"
#include "test/sim/streams/status.h"

namespace sim {

struct Stream;
struct Context {
  OpenRef open = std::make_shared<OpenWork>();
  Stream* legacy = nullptr;
  std::map<std::thread::id, Stream*> per_thread;
  std::vector<OperationRef> left;  ///< last ones of destroyed streams: the legacy stream waits for them
  bool alive = true;
  std::uint64_t number = 0;  ///< no two contexts of a process have the same one
  int device = 0;            ///< all of them are the same memory
};

enum class CaptureMode { kGlobal, kThreadLocal, kRelaxed };  // the numbers of both APIs

/// A stream capture of the program.
struct Capture {
  Graph* graph = nullptr;
  CaptureMode mode = CaptureMode::kGlobal;
  std::thread::id thread;
  Stream* origin = nullptr;
  bool invalid = false;
};

/// The flag of streams that do not wait for the default stream.
constexpr unsigned kNonBlocking = 1;
/// The flag of events without times.
constexpr unsigned kDisableTiming = 2;

struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;
  int device = 0;  ///< HIP's, which has one context for all
  OperationRef tail;
  std::vector<OperationRef> ahead;  ///< what the last operation came after, if that is a kernel; else empty
  Capture* capture = nullptr;
  std::vector<Node*> captured_tail;
  struct Attribute {
    std::uint64_t number = 0;  ///< 0: as in a new stream
    std::vector<std::byte> value;
  };
  std::map<int, Attribute> attributes;  ///< that its kernels have
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  OperationRef last;
  Capture* capture = nullptr;
  std::vector<Node*> captured;
};

struct Module;
/// Bytes of dynamic shared memory that a kernel may have where nobody has set another limit.
inline constexpr int kMostSharedAtFirst = 49152;
struct Function {
  const Kernel* kernel = nullptr;
  Module* module = nullptr;    ///< or library
  Context* context = nullptr;  ///< null: of a library, for all contexts
  /// One for all handles of a kernel.
  std::shared_ptr<std::map<int, int>> attributes = std::make_shared<std::map<int, int>>();
};
struct Module {
  Context* context = nullptr;
  std::vector<Function*> functions;
  Address variable = 0;  ///< `calls`, a number of four bytes, if the image declares variables
};
/// What is loaded from PTX has the variable if the text declares any, in memory of the context, with the value that the
/// text says ("calls = 5"). Otherwise there is none.
void read_image(Module& module, const void* image, const Context* owner);

struct State {
  std::map<std::uint64_t, std::uint64_t> set;  ///< what was set for all launches
  Context* primary = nullptr;                  ///< HIP's; CUDA's faces have one for each device
  std::vector<Context*> contexts;
  /// Never freed: threads may have contexts on their stacks, and events name captures. Streams: default ones of
  /// contexts whose handle came again.
  std::vector<Context*> kept_contexts;
  std::vector<Stream*> kept_streams;
  std::vector<Capture*> kept_captures;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Module> modules, libraries;
  Handles<Function> functions, kernels;  ///< of modules, and of libraries
  Handles<Graph> graphs;
  Handles<Node> nodes;
  Handles<Exec> execs;
  std::vector<Capture*> captures;
};
State& state() noexcept;

// Contexts (contexts.cpp). The stack is the calling thread's.
std::vector<Context*>& context_stack();
/// `again`: a context that is gone, whose handle comes again.
Context* make_context(Context* again = nullptr);
/// Null if there is none.
Context* find_context(const void* handle);
/// Waits for its work; all that is in it goes.
void destroy_context(Lock& lock, Context* context);
/// The calling thread's context; kInvalidContext or kContextDestroyed if it has none.
Status current(Context** context);
/// Whether handles of this context may come (a program that uses streams of another context gets an error).
[[nodiscard]] bool is_current(const Context* context);
/// Waits for everything in every context.
void wait_for_device(Lock& lock);

// Streams (streams.cpp).
/// The stream that `handle` means: 0 is the default stream, the thread's own with `per_thread`; 1 and 2 are those two
/// by name. An error, and a violation, if it was destroyed.
Status find_stream(const void* handle, bool per_thread, Stream** stream);
Status make_stream(unsigned flags, int priority, Stream** stream);
Status destroy_stream(Lock& lock, void* handle);
/// Puts work into a stream, or into the graph that it captures. `more`: what it comes after, too.
Status put(Lock& lock, Stream& stream, Task task, std::span<const OperationRef> more = {});
/// What the next work of the stream comes after.
std::vector<OperationRef> before_next(const Stream& stream);
/// Waits for the launch that was put last into the stream, if launches block.
Status end_launch(Lock& lock, const Stream& stream);
Status synchronize_stream(const void* handle, bool per_thread);
Status query_stream(const void* handle, bool per_thread);
Status wait_event(const void* handle, bool per_thread, const void* event);
Status add_host_function(const void* handle, bool per_thread, void (*function)(void*), void* data);
/// Nothing moves: all memory is in one place.
Status prefetch(const void* handle, bool per_thread, Address memory, std::size_t bytes);
Status advise(Address memory, std::size_t bytes);
/// Writes the first `bytes` of `value`.
Status write_value(const void* handle, bool per_thread, Address to, std::uint64_t value, std::size_t bytes);

// Events (events.cpp).
Status find_event(const void* handle, Event** event);
/// A violation if the settings want it, and nobody has recorded the event.
void check_recorded(const Event& event, const char* by);
Status make_event(unsigned flags, Event** event);
Status destroy_event(void* handle);
Status record_event(const void* handle, const void* stream, bool per_thread);
/// Whether it is done; waits if asked to.
Status look_at_event(const void* handle, bool wait);
Status elapsed(float* milliseconds, const void* start, const void* end);

// Captures (captures.cpp).
/// The calling thread's.
CaptureMode& capture_mode() noexcept;
Status begin_capture(const void* stream, bool per_thread, CaptureMode mode);
Status end_capture(const void* stream, bool per_thread, Graph** graph);
/// 0: none; 1: active; 2: invalid.
Status capture_status(const void* stream, bool per_thread, int* result);
/// For calls that may not be made while somebody captures in a mode that forbids it (which: ../README.md). Ends such
/// captures.
Status forbidden_in_captures();
/// The same for a call that waits for a whole context.
Status forbidden_in_captures_of(const Context& context);

// Graphs (graphs.cpp).
Status find_graph(const void* handle, Graph** graph);
Status find_exec(const void* handle, Exec** exec);
/// Nodes by their handles; an error, and a violation, if one is none of the graph.
Status find_nodes(const Graph& graph, const void* const* handles, std::size_t count, std::vector<Node*>* nodes);
Status destroy_graph(void* handle);
Status destroy_exec(void* handle);
Status instantiate_graph(const void* graph, Exec** exec);
/// `early`: whether that edge only orders the beginnings of two kernels.
Status add_edges(const void* graph, const void* const* from, const void* const* to, std::size_t count,
                 const std::function<bool(std::size_t)>& early = nullptr);
Status remove_edges(const void* graph, const void* const* from, const void* const* to, std::size_t count);
Status destroy_node(const void* node);
/// A copy with nodes of its own.
Status clone_graph(const void* graph, Graph** clone);
/// A copy of `child` as one node: the result, which is done when all of the copy is, after `before`.
Status add_child(Graph& graph, const std::vector<Node*>& before, const void* child, Node** node);
/// kGraphUpdateFailure if the graph is not that of `exec` but for its arguments.
Status update_exec(const void* exec, const void* graph);
/// Launches of one executable graph follow each other.
Status launch_graph(const void* exec, const void* stream, bool per_thread);
Status upload_graph(const void* exec, const void* stream, bool per_thread);
/// Changes a node of a graph that is not executable, in the same way.
Status change_graph_node(const void* node, Task task);
/// Changes one node of an executable graph to `task`, which must be of the kind of the node's task.
Status change_node(Exec& exec, const void* node, Task task);

// Memory (copies.cpp).
enum class Side { kAny, kDevice, kHost };
struct Copy {
  Box to;
  Side to_side = Side::kAny;
  Box from;
  Side from_side = Side::kAny;
  std::size_t bytes = 0, height = 1, depth = 1;
};
/// When the call of a copy returns.
enum class Returns {
  kAtOnce,
  /// When pageable memory that it reads was read: the copy itself may still be under way, which only its own stream,
  /// and what that is ordered with, waits for. Other copies: when they are done. Source: "API synchronization behavior"
  /// in the documents of CUDA's driver API; an H200 does that now and then.
  kWhenRead,
  kWhenDone,
};
/// What a call with these names: pageable memory is read at the call, and written before it returns.
Status copy(const Copy& wanted, const void* stream, bool per_thread, Returns returns);
/// `height` rows of `count` elements of `element` bytes.
Status fill(const Box& to, unsigned value, unsigned element, std::size_t count, std::size_t height, const void* stream,
            bool per_thread);
// Memory in the order of streams (pools.cpp).
/// A handle of a pool; null: the one that is current.
Status make_pool(const void** pool);
Status destroy_pool(const void* pool);
Status use_pool(const void* pool);
/// Whether an allocation may wait for a free in another stream; null: there is no such pool. Under Lock.
[[nodiscard]] bool* waits_of(const void* pool) noexcept;
[[nodiscard]] const void* current_pool() noexcept;
[[nodiscard]] const void* default_pool() noexcept;
/// Bytes that the program has of a pool, null: of all, as far as its calls go.
[[nodiscard]] std::size_t used_of(const void* pool);
Status allocate_in_order(std::size_t bytes, const void* pool, const void* stream, bool per_thread, Address* address);
Status free_in_order(Address address, const void* stream, bool per_thread);
/// Of the calling thread's context.
Status allocate_memory(std::size_t bytes, MemoryType type, Address* address);
/// Waits for the device. 0 is nothing.
Status free_memory(const char* name, Address address);

// Functions (modules.cpp).
/// The module's function of this name, the same one each time; null if there is none.
Function* function_of(Module& module, Handles<Function>& handles, const char* name);
Status unload(Lock& lock, Handles<Module>& modules, Handles<Function>& functions, const void* handle, const char* name);
/// Of a module or of a library; null if it is none.
Function* find_function(const void* handle);
/// The arguments of a launch as one block: from one address for each parameter, …
Status read_arguments(const Kernel& kernel, const void* const* parameters, std::vector<std::byte>* arguments);
/// … or from a block of `bytes`.
Status read_argument_block(const Kernel& kernel, const void* block, std::size_t bytes,
                           std::vector<std::byte>* arguments);
/// `attributes`: of this launch, rather than its stream's. `early`: it may begin before the kernel in front of it ends.
Status launch_kernel(const void* function, const Shape& shape, std::vector<std::byte> arguments, const void* stream,
                     bool per_thread, const std::map<int, std::uint64_t>& attributes = {}, bool early = false);

// What was set (setters.cpp).
/// Completes the shape of a kernel; kInvalidValue if the function may not be launched like that.
Status launched_with(const Function& function, Task* task);
/// Instead of the one that it has.
void give_attribute(Task* task, int id, std::uint64_t value);

}  // namespace sim
