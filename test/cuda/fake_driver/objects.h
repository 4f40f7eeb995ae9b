// What handles stand for. All of it is read and changed under the lock.
#pragma once

#include <map>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "test/cuda/fake_driver/schedule.h"

namespace fake {

/// Objects of one kind by their handles, which are their addresses. A destroyed one's address comes back with the
/// next object or never, as the seed says.
template <class T>
class Handles {
 public:
  T* make() {
    T* object = nullptr;
    if (reuses_addresses() && !dead_.empty()) {
      object = dead_.back();
      dead_.pop_back();
    } else {
      object = new T;
    }
    live_.insert(object);
    return object;
  }
  void destroy(T* object) {
    live_.erase(object);
    *object = T();
    dead_.push_back(object);
  }
  template <class Handle>
  [[nodiscard]] T* find(Handle handle) const {
    const auto found = live_.find(reinterpret_cast<T*>(handle));
    return found == live_.end() ? nullptr : *found;
  }
  [[nodiscard]] const std::unordered_set<T*>& all() const noexcept { return live_; }

 private:
  std::unordered_set<T*> live_;
  std::vector<T*> dead_;
};

struct Stream;
struct Context {
  /// Shared, so that it outlives the context: who waits may look at it after another thread destroyed that.
  std::set<std::uint64_t>& open = *new std::set<std::uint64_t>;
  Stream* legacy = nullptr;
  std::map<std::thread::id, Stream*> per_thread;
  Context& operator=(const Context&) = delete;
  bool alive = true;
};

struct Graph;
struct Node {
  Graph* graph = nullptr;
  Task task;
  std::vector<Node*> before;
};
struct Graph {
  std::vector<Node*> nodes;  ///< in an order that respects the edges, as all of them are added with their edges
};
struct ExecNode {
  Node* node = nullptr;
  Task task;
  std::vector<std::size_t> before;
};
struct Exec {
  std::vector<ExecNode> nodes;
  OperationRef last;  ///< launches of one graph follow each other
};

/// A stream capture of the program.
struct Capture {
  Graph* graph = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Stream* origin = nullptr;
  bool invalid = false;
};

struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;
  OperationRef tail;
  Capture* capture = nullptr;
  std::vector<Node*> captured_tail;
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  OperationRef last;
  Capture* capture = nullptr;
  std::vector<Node*> captured;
};

struct Function {
  const Kernel* kernel = nullptr;
  Context* context = nullptr;  ///< null: of a library, for all contexts
  std::map<int, int> attributes;
};
struct Module {
  Context* context = nullptr;
  std::vector<Function*> functions;  ///< of modules: CUfunction; of libraries: CUkernel
};

struct State {
  Context* primary = nullptr;
  int primary_users = 0;
  std::vector<Context*> contexts;
  /// Never freed: threads may have contexts on their stacks, and events name captures.
  std::vector<Context*> kept_contexts;
  std::vector<Capture*> kept_captures;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Module> modules, libraries;
  Handles<Function> functions, kernels;
  Handles<Graph> graphs;
  Handles<Node> nodes;
  Handles<Exec> execs;
  std::vector<Capture*> captures;
};
State& state() noexcept;

/// The calling thread's context; CUDA_ERROR_INVALID_CONTEXT or CUDA_ERROR_CONTEXT_IS_DESTROYED if it has none.
CUresult current(Context** context);
/// Whether handles of this context may come (a program that uses streams of another context gets an error).
[[nodiscard]] bool is_current(const Context* context);

/// The stream that `handle` means. An error, and a violation, if it was destroyed.
CUresult find_stream(CUstream handle, bool per_thread, Stream** stream);
CUresult find_event(CUevent handle, Event** event);

/// Puts work into a stream, or into the graph that it captures. `more`: what it comes after, too.
CUresult put(Lock& lock, Stream& stream, Task task, std::span<const OperationRef> more = {});
/// What the next work of the stream comes after.
std::vector<OperationRef> before_next(const Stream& stream);

/// For calls that may not be made while somebody captures in a mode that forbids it. Ends such captures.
CUresult forbidden_in_captures();
/// The same for a call that waits for a whole context.
CUresult forbidden_in_captures_of(const Context& context);

/// Adds a node to a graph.
Node* add_node(Graph& graph, Task task, std::vector<Node*> before);
/// The arguments of a launch as one block, from one of the two forms.
CUresult read_arguments(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>* arguments);
/// CUfunction or CUkernel.
Function* find_function(CUfunction handle);

/// Waits for everything in every context.
void wait_for_device(Lock& lock);

}  // namespace fake
