// Contexts: the device's primary one and others; each thread has a stack of them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "test/sim/streams/objects.h"

namespace sim {

State& state() noexcept {
  static State& all = *new State;
  return all;
}

std::vector<Context*>& context_stack() {
  // Handlers of atexit() may call us when the main thread's own variables are gone.
  static thread_local constinit bool gone = false;
  struct Stack {
    std::vector<Context*> contexts;
    ~Stack() { gone = true; }
  };
  static auto& afterwards = *new std::vector<Context*>;
  if (gone) {
    return afterwards;
  }
  static thread_local Stack stack;
  return stack.contexts;
}

Context* find_context(const void* handle) {
  const auto& all = state().contexts;
  const auto found = std::find(all.begin(), all.end(), handle);
  return found == all.end() ? nullptr : *found;
}

Context* make_context(Context* again) {
  static std::uint64_t made_before = 0;
  Context* made = again;
  if (again != nullptr) {
    state().kept_streams.push_back(again->legacy);
    for (const auto& [thread, stream] : again->per_thread) {
      state().kept_streams.push_back(stream);
    }
    *again = Context{};
  } else {
    made = new Context;
    state().kept_contexts.push_back(made);
  }
  made->number = ++made_before;
  made->legacy = new Stream;
  made->legacy->context = made;
  made->legacy->legacy = true;
  state().contexts.push_back(made);
  return made;
}

namespace {

template <class T>
void destroy_all(Handles<T>& handles, const Context* context) {
  std::vector<T*> gone;
  std::copy_if(handles.all().begin(), handles.all().end(), std::back_inserter(gone),
               [context](const T* object) { return object->context == context; });
  for (T* object : gone) {
    handles.destroy(object);
  }
}

}  // namespace

void destroy_context(Lock& lock, Context* context) {
  wait_for_all(lock, context->open);
  context->alive = false;
  std::erase(state().contexts, context);
  destroy_all(state().streams, context);
  destroy_all(state().events, context);
  destroy_all(state().functions, context);
  destroy_all(state().modules, context);
  release_all(context);
}

Status current(Context** context) {
  if (context_stack().empty() || context_stack().back() == nullptr) {
    return Status::kInvalidContext;
  }
  *context = context_stack().back();
  return (*context)->alive ? Status::kOk : Status::kContextDestroyed;
}

bool is_current(const Context* context) {
  return !context_stack().empty() && context_stack().back() == context;
}

void wait_for_device(Lock& lock) {
  const std::vector<Context*> all = state().contexts;
  for (const Context* context : all) {
    wait_for_all(lock, context->open);
  }
}

}  // namespace sim
