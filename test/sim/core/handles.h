// What handles stand for. All of it is read and changed under the lock.
#pragma once

#include <unordered_set>
#include <vector>

#include "test/sim/core/settings.h"

namespace sim {

/// Objects of one kind by their handles, which are their addresses. A destroyed one's address comes back with the
/// next object or never, as the seed says; its contents are gone at once.
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
  /// Null: there is no such object, or it was destroyed.
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

}  // namespace sim
