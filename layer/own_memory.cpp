// operator new, operator delete and the allocation of exceptions, for our libraries, each of which is linked with a C++
// library of its own. They do what the C++ library's do, with one difference: where malloc() fails, exceptions can
// still be thrown and held work can still be submitted (env/reserve.h).
#include <cxxabi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "env/reserve.h"

namespace refrain::layer {
namespace {

constexpr std::size_t kAligned = alignof(std::max_align_t);

/// Pieces that come and go; all of it is free again when none is in use. No lock: pieces are taken one behind the
/// other, and counted.
template <std::size_t bytes>
class Reserve {
 public:
  /// Null if there is not so much left.
  void* take(std::size_t wanted) noexcept {
    const std::size_t size = (wanted + kAligned - 1) / kAligned * kAligned;
    State before = state_.load(std::memory_order_relaxed);
    State after{};
    do {
      if (size > bytes - before.used) {
        return nullptr;
      }
      after = {before.pieces + 1, static_cast<std::uint32_t>(before.used + size)};
    } while (!state_.compare_exchange_weak(before, after, std::memory_order_acquire));
    return place_ + before.used;
  }
  [[nodiscard]] bool has(const void* piece) const noexcept {
    const auto offset = reinterpret_cast<std::uintptr_t>(piece) - reinterpret_cast<std::uintptr_t>(place_);
    return offset < bytes;
  }
  void give_back() noexcept {
    State before = state_.load(std::memory_order_relaxed);
    State after{};
    do {
      after = {before.pieces - 1, before.pieces == 1 ? 0 : before.used};
    } while (!state_.compare_exchange_weak(before, after, std::memory_order_release));
  }

 private:
  struct alignas(8) State {
    std::uint32_t pieces;
    std::uint32_t used;
  };
  std::atomic<State> state_{};
  alignas(kAligned) std::byte place_[bytes] = {};
};

constinit Reserve<256 << 10> for_held_work;
constinit Reserve<64 << 10> for_exceptions;

void* allocate(std::size_t bytes) noexcept {
  void* found = std::malloc(bytes == 0 ? 1 : bytes);
  if (found == nullptr && env::UseReserve::now()) [[unlikely]] {
    env::UseReserve::count();
    found = for_held_work.take(bytes);
  }
  return found;
}

void* allocate(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto aligned = static_cast<std::size_t>(alignment);
  void* found = std::aligned_alloc(aligned, (bytes + aligned - 1) / aligned * aligned);
  if (found == nullptr && env::UseReserve::now()) [[unlikely]] {
    env::UseReserve::count();
    auto* const place = static_cast<std::byte*>(for_held_work.take(bytes + aligned));
    const auto rest = reinterpret_cast<std::uintptr_t>(place) % aligned;
    found = place == nullptr || rest == 0 ? place : place + (aligned - rest);
  }
  return found;
}

void release(void* memory) noexcept {
  if (for_held_work.has(memory)) [[unlikely]] {
    for_held_work.give_back();
  } else {
    std::free(memory);
  }
}

template <class... Alignment>
void* allocate_or_throw(std::size_t bytes, Alignment... alignment) {
  void* const found = allocate(bytes, alignment...);
  if (found == nullptr) [[unlikely]] {
    throw std::bad_alloc();
  }
  return found;
}

// What the C++ library keeps in front of an exception that is thrown: __cxa_refcounted_exception, and
// __cxa_dependent_exception, which is not longer. Part of the C++ ABI of 64-bit machines.
constexpr std::size_t kExceptionHeader = 128;

void* allocate_exception(std::size_t bytes) noexcept {
  void* found = std::malloc(bytes);
  if (found == nullptr) {
    found = for_exceptions.take(bytes);
  }
  if (found == nullptr) {
    std::terminate();  // hundreds at once
  }
  std::memset(found, 0, kExceptionHeader);
  return found;
}

void release_exception(void* memory) noexcept {
  if (for_exceptions.has(memory)) {
    for_exceptions.give_back();
  } else {
    std::free(memory);
  }
}

}  // namespace
}  // namespace refrain::layer

using namespace refrain::layer;

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, alignment);
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return allocate(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*unused*/) noexcept {
  return allocate(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*unused*/) noexcept {
  return allocate(bytes, alignment);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*unused*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, const std::nothrow_t& /*unused*/) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/, const std::nothrow_t& /*unused*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/, const std::nothrow_t& /*unused*/) noexcept {
  release(memory);
}

namespace __cxxabiv1 {

extern "C" {
void* __cxa_allocate_exception(std::size_t bytes) noexcept {
  return static_cast<std::byte*>(allocate_exception(bytes + kExceptionHeader)) + kExceptionHeader;
}
void __cxa_free_exception(void* thrown) noexcept {
  release_exception(static_cast<std::byte*>(thrown) - kExceptionHeader);
}
__cxa_dependent_exception* __cxa_allocate_dependent_exception() noexcept {
  return static_cast<__cxa_dependent_exception*>(allocate_exception(kExceptionHeader));
}
void __cxa_free_dependent_exception(__cxa_dependent_exception* thrown) noexcept {
  release_exception(thrown);
}
}

}  // namespace __cxxabiv1
