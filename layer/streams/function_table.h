// Kernels by their handles, and what ends them.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/streams/host_call.h"
#include "layer/streams/objects.h"
#include "layer/streams/setters.h"

namespace refrain::layer::streams {

/// Which records of kernels there are, besides L::objects(), and how kernels are called.
template <class L>
class FunctionTable {
 public:
  /// The one of the process; never destroyed.
  static FunctionTable& all() noexcept {
    static Immortal<FunctionTable> table;
    return *table;
  }

  /// Makes the record of a kernel that was not found. `describe(record)` says what it is, but for its number; it may
  /// throw. Null if there is no memory: a kernel that is not known. Another thread's record, if that was faster.
  template <class Describe>
  const FunctionState* adopt(Handle handle, Describe&& describe) noexcept {
    FunctionState* const made = L::objects().functions.make();
    if (made == nullptr) {
      return nullptr;
    }
    const FunctionState* kept = nullptr;
    try {
      made->id = next_object_id();
      describe(*made);
      const env::MutexLock guard(mutex_);
      if (!made->name.empty()) {
        made->id = stable_id(made->name);
      }
      kept = L::objects().functions.find(handle);
      if (kept == nullptr && keep(made, handle)) {
        return made;
      }
    } catch (...) {
      // As if it was never seen.
    }
    L::objects().functions.recycle(made);
    return kept;
  }

  /// A module or library is about to be unloaded (kAnyModule: several): no record of its kernels is kept, nor of
  /// those of which nobody knows where they are from, and graphs that name them are dropped. Needs no memory.
  ///
  /// Not under the lock: the backend waits for graphs that are being recorded, and modules go, which others than us
  /// must be told, while nothing is recorded.
  void forget_of(std::uint64_t module) noexcept {
    FunctionState* gone = take([module](const FunctionState& each) { return each.may_be_of(module); });
    while (gone != nullptr) {
      FunctionState* const next = std::exchange(gone->next_free, nullptr);
      forget(gone, module);
      gone = next;
    }
  }

  /// What was known of the kernel with this handle is not true any more.
  void forget(Handle handle) noexcept {
    const FunctionState* const stale = L::objects().functions.find(handle);
    if (stale == nullptr) {
      return;
    }
    if (FunctionState* const taken = take([stale](const FunctionState& each) { return &each == stale; });
        taken != nullptr) {  // else another thread forgets it
      forget(taken, kAnyModule);
    }
  }

  /// For reports; empty if unknown.
  [[nodiscard]] std::string name_of(capture::FunctionId function) noexcept {
    try {
      const env::MutexLock guard(mutex_);
      const auto found = names_.find(function);
      return found == names_.end() ? std::string() : found->second;
    } catch (...) {
      return {};
    }
  }

 private:
  /// False, and nothing is remembered, if there is no memory.
  bool keep(FunctionState* function, Handle handle) noexcept REFRAIN_REQUIRES(mutex_) {
    try {
      names_.emplace(function->id, function->name);
      live_.push_back(function);
      function->handle.store(handle, std::memory_order_relaxed);  // nobody finds it yet
      find_family(*function);
      Setters<L>::all().adopt(*function, handle);
      if (L::objects().functions.insert(function, handle)) {
        return true;
      }
    } catch (...) {
      // As far as it came is taken back.
    }
    names_.erase(function->id);
    std::erase(live_, function);
    Setters<L>::all().forget(*function, handle, false);
    return false;
  }

  /// Of kernels whose limits are known, for whom others have shown what a launch may be like. May throw std::bad_alloc.
  void find_family(FunctionState& function) REFRAIN_REQUIRES(mutex_) {
    function.own_family.id = function.id;
    if (function.name.empty() || function.limits.load(std::memory_order_relaxed).threads == 0) {
      return;
    }
    std::string key = function.name;
    for (std::size_t i = 0; i < function.buffer_offsets.size(); ++i) {
      key += ' ' + std::to_string(function.buffer_offsets[i]) + ':' + std::to_string(function.descriptors[i].size);
    }
    const auto [known, is_new] = families_.try_emplace(std::move(key));
    if (is_new) {
      known->second.id = function.id;
    }
    function.family = &known->second;
  }

  /// The first kernel of a name has the same number in every run, and the second one another one, as programs load
  /// their modules in the same order each time. No number is ever given again: tokens must not stand for another
  /// kernel than the one that they stood for. May throw std::bad_alloc.
  capture::FunctionId stable_id(const std::string& name) REFRAIN_REQUIRES(mutex_) {
    const std::uint64_t hash = XXH3_64bits(name.data(), name.size());
    return capture::mix(hash, ++of_name_[hash]) | kStableId;
  }

  /// A chain of those that `goes` is true of: only the caller forgets them then.
  template <class Goes>
  FunctionState* take(Goes&& goes) noexcept {
    const env::MutexLock guard(mutex_);
    const auto first =
        std::partition(live_.begin(), live_.end(), [&](const FunctionState* each) { return !goes(*each); });
    FunctionState* chain = nullptr;
    for (auto each = first; each != live_.end(); ++each) {
      (*each)->next_free = std::exchange(chain, *each);
    }
    live_.erase(first, live_.end());
    return chain;
  }

  void forget(FunctionState* function, std::uint64_t unloaded) noexcept {
    const Handle handle = function->handle.load(std::memory_order_relaxed);
    if (replay::Engine* running = engine_with_threads<L>(); running != nullptr) {
      running->identity_gone(function->id);
    }
    if (auto* const backend = L::runtime().backend; backend != nullptr) {
      backend->forget_function(function->id);
    }
    L::objects().functions.erase(function);
    Setters<L>::all().forget(*function, handle, function->is_of(unloaded));
    {
      const env::MutexLock guard(mutex_);
      names_.erase(function->id);
    }
    if (function->is_of(unloaded)) {
      L::objects().functions.recycle(function);
    }
  }

  static constexpr capture::FunctionId kStableId = capture::FunctionId{1} << 63U;  ///< no object has such a number

  env::Mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> of_name_
      REFRAIN_GUARDED_BY(mutex_);  ///< kernels so far, by its hash
  std::unordered_map<capture::FunctionId, std::string> names_ REFRAIN_GUARDED_BY(mutex_);
  std::map<std::string, FunctionFamily> families_ REFRAIN_GUARDED_BY(mutex_);  ///< which live as long as the process
  std::vector<FunctionState*> live_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::layer::streams
