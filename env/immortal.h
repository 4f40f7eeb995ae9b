// Objects that are made on first use and never destroyed: threads of the application may call us while the
// process exits.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace refrain::env {

/// For function-local statics: `static Immortal<Mutex> mutex;`. Allocates nothing itself.
template <class T>
class Immortal {
 public:
  Immortal() { new (storage_) T; }
  template <class First, class... More>
  explicit Immortal(First&& first, More&&... more) {
    new (storage_) T(std::forward<First>(first), std::forward<More>(more)...);
  }
  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(storage_)); }
  T* operator->() noexcept { return &**this; }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
};

}  // namespace refrain::env
