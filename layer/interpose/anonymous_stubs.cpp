#include "layer/interpose/anonymous_stubs.h"

namespace refrain::layer::interpose {

std::optional<std::uint32_t> AnonymousStubs::find(void* function, std::string_view name) noexcept {
  try {
    const env::MutexLock guard(mutex_);
    if (const auto known = known_.find(function); known != known_.end()) {
      return known->second;
    }
    if (next_ == end_) {
      return std::nullopt;
    }
    names_.emplace_front(name);
    HostStubs::set(next_, function, names_.front().c_str());
    known_.emplace(function, next_);
    return next_++;
  } catch (...) {
    return std::nullopt;
  }
}

std::size_t AnonymousStubs::size() noexcept {
  const env::MutexLock guard(mutex_);
  return known_.size();
}

}  // namespace refrain::layer::interpose
