// What records of the vendors' objects are found by, and what tells them apart.
#pragma once

#include <atomic>

#include "capture/operation.h"

namespace refrain::layer {

using capture::Handle;
using capture::ObjectId;
using capture::OperationKind;
using capture::Token;

template <class T>
[[nodiscard]] Handle handle_of(T* object) noexcept {
  return reinterpret_cast<Handle>(object);
}
template <class T>
[[nodiscard]] T native(Handle handle) noexcept {
  return reinterpret_cast<T>(handle);
}

/// A number never given before by this layer. Thread-safe.
[[nodiscard]] inline ObjectId next_object_id() noexcept {
  static constinit std::atomic<ObjectId> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace refrain::layer
