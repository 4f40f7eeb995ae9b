// Which stub a function has that is in no list.
#pragma once

#include <cstdint>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "env/mutex.h"
#include "layer/interpose/host_stubs.h"

namespace refrain::layer::interpose {

class AnonymousStubs {
 public:
  /// Gives stubs from `first` on, up to `end`.
  explicit AnonymousStubs(std::uint32_t first = 0, std::uint32_t end = HostStubs::kCount) noexcept
      : next_(first), end_(end) {}

  /// The number of the stub of `function`, which is always the same one; `name`, as explanations call it, is copied.
  /// Nothing if there are no more stubs, or is no memory: then the function can't be watched. Thread-safe.
  [[nodiscard]] std::optional<std::uint32_t> find(void* function, std::string_view name) noexcept;

  /// Functions that have one.
  [[nodiscard]] std::size_t size() noexcept;

 private:
  env::Mutex mutex_;
  std::unordered_map<void*, std::uint32_t> known_ REFRAIN_GUARDED_BY(mutex_);
  std::forward_list<std::string> names_
      REFRAIN_GUARDED_BY(mutex_);  // never moved: threads may be on their way through a stub
  std::uint32_t next_ REFRAIN_GUARDED_BY(mutex_);
  const std::uint32_t end_;
};

}  // namespace refrain::layer::interpose
