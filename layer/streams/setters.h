// Setters: calls that change how later submissions behave. What they set is part of the tokens of all that it concerns,
// so that no graph of another state is used for them; see layer/set_state.h for the numbers, and
// replay/runtime/state_changes.h for graphs that are being made. Which attributes a driver takes into a graph, and
// when, is not known: all are treated alike.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "env/mutex.h"
#include "layer/common/stable_names.h"
#include "layer/immortal.h"
#include "layer/set_state.h"
#include "layer/streams/stream_table.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

/// L has, besides what objects.h lists, function_of(handle) (makes the record of a kernel), has_one_handle(handle) (no
/// other handle of that kind is the same kernel's) and find_limits(function, handle) (FunctionState::limits).
template <class L>
class Setters {
 public:
  using Status = typename L::Api::Status;
  using Stream = StreamState<typename L::Api>;

  /// Of a stream: what is set for it is not one attribute.
  static constexpr std::uint64_t kAllAttributes = ~std::uint64_t{0};

  /// The one of the process; never destroyed.
  static Setters& all() noexcept {
    static Immortal<Setters> setters;
    return *setters;
  }

  /// A setter of a kernel. `what`: which attribute. `call()` calls the driver.
  template <class Call>
  Status of_function(const replay::EntryPoint& entry_point, Handle function, std::uint64_t what, SetValue value,
                     Call&& call) noexcept {
    const Token name = names_.number_of(function);
    const Setting setting{entry_point, capture::mix(name, what), value};
    FunctionState* found = nullptr;
    return set(
        setting,
        [&] {
          const Status status = call();
          if (status == L::Api::kSuccess && L::function_of(function) != nullptr) {
            found = L::objects().functions.find(function);
          }
          if (found != nullptr) {
            L::find_limits(*found, function);
          }
          return status;
        },
        [&]() REFRAIN_REQUIRES(mutex_) {
          const FunctionState* const known = L::objects().functions.find(function);
          const auto group = known == nullptr ? groups_.end() : groups_.find(known->name);
          if (group == groups_.end()) {
            return false;
          }
          if (group->second.apart) {
            const auto own = own_.find(function);
            return own != own_.end() && own->second.is_set(what, *value);
          }
          // A kernel may have several handles, and nobody tells that they are one's: only the newest one's is known.
          return group->second.state.is_set(setting.key, *value) && group->second.state.is_set(what, name);
        },
        [&](SetValue now) REFRAIN_REQUIRES(mutex_) {
          Group& group = groups_[found == nullptr ? std::string() : found->name];
          own_[function].set(what, now);
          join(group, function);
          if (!group.apart) {
            group.state.set(setting.key, now);
            group.state.set(what, name);
            // What others may have at most may have changed with it.
            for (FunctionState* const other : group.functions) {
              if (other != found) {
                other->limits.store({}, std::memory_order_relaxed);
              }
            }
          }
          notify(group);
        },
        // What is held and recorded knows nothing of a kernel that was never launched.
        [&] { return !L::has_one_handle(function) || L::objects().functions.find(function) != nullptr; });
  }

  /// A setter of a stream. `stream` null: one that cannot be looked at now.
  template <class Call>
  Status of_stream(const replay::EntryPoint& entry_point, Stream* stream, std::uint64_t what, SetValue value,
                   Call&& call) noexcept {
    const std::uint64_t id = stream == nullptr ? 0 : stream->slot.info.id;
    const Setting setting{entry_point, capture::mix(id, what), stream == nullptr ? SetValue() : value};
    return set(
        setting, call, [&]() REFRAIN_REQUIRES(mutex_) { return stream->set.is_set(what, *value); },
        [&](SetValue now) REFRAIN_REQUIRES(mutex_) {
          if (stream != nullptr) {
            if (what == kAllAttributes) {
              stream->set.renew();
              frequent_.clear();
            }
            stream->set.set(what, now);
          }
          StreamTable<L>::all().attributes_set(stream);
        },
        [] { return true; });
  }

  /// The same of the stream that the calling thread means by `handle`. While the program captures, the driver must not
  /// be asked about streams.
  template <class Call>
  Status of_stream(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle handle,
                   DefaultStream by_default, std::uint64_t what, SetValue value, Call&& call) noexcept {
    Stream* const stream = passing<L>() ? find_known_stream<L>(handle, by_default) : find_stream<L>(handle, by_default);
    return of_stream(entry_point, stream, what, value, call);
  }

  /// A setter of a context, of a device, of the process, of memory: it concerns all submissions. `what` may be set by
  /// several functions, and be one thing for several objects.
  template <class Call>
  Status of_all(const replay::EntryPoint& entry_point, std::uint64_t what, std::uint64_t object, SetValue value,
                Call&& call) noexcept {
    const Setting setting{entry_point, capture::mix(what, object), value};
    return set(
        setting, call,
        [&]() REFRAIN_REQUIRES(mutex_) { return around_.is_set(setting.key, *value) && around_.is_set(what, object); },
        [&](SetValue now) REFRAIN_REQUIRES(mutex_) {
          around_.set(setting.key, now);
          around_.set(what, object);
          StreamTable<L>::all().set_around(around_.number());
        },
        [] { return true; });
  }

  /// A kernel was seen for the first time. May throw std::bad_alloc.
  void adopt(FunctionState& function, Handle handle) {
    const env::MutexLock guard(mutex_);
    Group& group = groups_[function.name];
    group.functions.push_back(&function);
    join(group, handle);
    function.state.store(number_of(group, handle), std::memory_order_release);
  }
  /// It goes, surely or perhaps: its handle may be another one's soon.
  void forget(FunctionState& function, Handle handle, bool surely) noexcept {
    const env::MutexLock guard(mutex_);
    frequent_.clear();
    const auto own = own_.find(handle);
    const bool was_set = own != own_.end();
    if (was_set && surely) {
      own_.erase(own);
    } else if (was_set) {
      own->second.renew();
    }
    const auto group = groups_.find(function.name);
    if (group != groups_.end() && std::erase(group->second.functions, &function) != 0) {
      if (was_set) {
        group->second.state.renew();
        notify(group->second);
      }
      if (group->second.functions.empty()) {
        groups_.erase(group);
      }
    }
  }
  /// A context goes, and its handle may be another one's soon.
  void forget_contexts() noexcept {
    const env::MutexLock guard(mutex_);
    frequent_.clear();
    around_.renew();
    StreamTable<L>::all().set_around(around_.number());
  }

 private:
  /// Kernels of one name.
  struct Group {
    bool apart = true;  ///< no two handles are the same kernel's: each has what was set with it
    SetState state;     ///< else: of all
    std::vector<FunctionState*> functions;
  };
  struct Setting {
    const replay::EntryPoint& entry_point;
    std::uint64_t key;
    SetValue value;
  };
  /// Setters that are at the driver: two of them may set one thing, by different handles.
  struct UnderWay {
    std::size_t count = 0;
    bool several = false;  ///< which was the last one, nobody knows
  };

  /// A handle of a kernel of this name is in use.
  void join(Group& group, Handle handle) noexcept REFRAIN_REQUIRES(mutex_) {
    if (!group.apart || L::has_one_handle(handle)) {
      return;
    }
    group.apart = false;
    const bool was_set =
        own_.contains(handle) || std::ranges::any_of(group.functions, [this](const FunctionState* each) {
          return own_.contains(each->handle.load(std::memory_order_relaxed));
        });
    if (was_set) {
      group.state.renew();
      notify(group);
    }
  }
  [[nodiscard]] std::uint64_t number_of(const Group& group, Handle handle) const noexcept REFRAIN_REQUIRES(mutex_) {
    const auto own = own_.find(handle);
    return !group.apart ? group.state.number() : own == own_.end() ? 0 : own->second.number();
  }
  void notify(const Group& group) noexcept REFRAIN_REQUIRES(mutex_) {
    for (FunctionState* const function : group.functions) {
      function->state.store(number_of(group, function->handle.load(std::memory_order_relaxed)),
                            std::memory_order_release);
    }
  }

  template <class Known>
  [[nodiscard]] bool is_set(const Setting& setting, Known&& known) noexcept {
    if (!setting.value.has_value()) {
      return false;
    }
    if (frequent_.known(setting.key, *setting.value)) [[likely]] {
      return true;
    }
    const env::MutexLock guard(mutex_);
    if (under_way_.count != 0 || !known()) {
      return false;
    }
    frequent_.keep(setting.key, *setting.value);
    return true;
  }

  /// `known()` and `note(value)` want the lock: whether it is set already, and that it is now. `concerns_work()`:
  /// whether what was submitted before, by any thread, has to come before it.
  template <class Call, class Known, class Note, class ConcernsWork>
  Status set(const Setting& setting, Call&& call, Known&& known, Note&& note, ConcernsWork&& concerns_work) noexcept {
    Status status = L::Api::kSuccess;
    const bool same = is_set(setting, known);
    if (same) [[likely]] {
      status = call();
      if (is_set(setting, known)) [[likely]] {
        return status;  // nobody has set anything else meanwhile
      }
    }
    if (replay::Engine* const running = L::engine(); running != nullptr && !concerns_work()) {
      set_and_note(*running, setting, same, status, call, note);
      return status;
    }
    HostCall<L> host_call(setting.entry_point, false);
    replay::Engine* const running = L::engine();
    if (running == nullptr) {
      return host_call.done(same ? status : call(), false);
    }
    running->state_changing();
    running->state_changed(set_and_note(*running, setting, same, status, call, note));
    return host_call.done(status, false);
  }

  /// `same`: it was set already, with this `status`, but another thread has set something since. True if it is set.
  template <class Call, class Note>
  bool set_and_note(replay::Engine& running, const Setting& setting, bool same, Status& status, Call&& call,
                    Note&& note) noexcept {
    bool accepted = true;
    try {
      {
        const env::MutexLock guard(mutex_);
        frequent_.clear();
        under_way_.several = ++under_way_.count > 1 || under_way_.several;
      }
      status = same ? status : call();
      accepted = same || status == L::Api::kSuccess;
      const env::MutexLock guard(mutex_);
      frequent_.clear();
      const bool alone = !same && !under_way_.several;
      if (--under_way_.count == 0) {
        under_way_.several = false;
      }
      if (accepted) {
        note(alone ? setting.value : SetValue());
      }
    } catch (...) {
      running.fail("out of memory while something was set");
    }
    return accepted;
  }

  env::Mutex mutex_;
  FirstUses names_;            ///< of handles of kernels
  FrequentSettings frequent_;  ///< changed under the lock, asked without it
  std::map<std::string, Group> groups_ REFRAIN_GUARDED_BY(mutex_);
  std::unordered_map<Handle, SetState> own_ REFRAIN_GUARDED_BY(mutex_);  ///< what was set with a handle of a kernel
  SetState around_ REFRAIN_GUARDED_BY(mutex_);
  UnderWay under_way_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::layer::streams
