// A submission that is looked at later, together with others: where nothing is ever held.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "capture/operation.h"

namespace refrain::replay {

/// What is to be known of a submission where nothing is held.
struct Noted {
  capture::Token token = 0;
  const char* unholdable = nullptr;  ///< see Submission, the other as well
  bool ends = false;
};

/// Asked of the layer when a submission that it kept is looked at, in the thread that made it. `may_ask`: the driver
/// may be called now, about what still exists (Lane::while_nothing_gone()). Must not throw.
using LookAtDeferred = Noted (*)(const std::byte* kept, bool may_ask);

/// One cache line: more is seldom left of them between two calls of a driver.
class alignas(64) DeferredSubmission {
 public:
  void note(const Noted& noted) noexcept {
    how_ = nullptr;
    std::memcpy(kept_, &noted, sizeof(noted));
  }
  /// A `Deferred` is made of `what`, in its place (a copy of it would be read before it is written), and `how` will be
  /// given its bytes.
  template <class Deferred, class... What>
  void defer(LookAtDeferred how, const What&... what) noexcept {
    static_assert(std::is_trivially_copyable_v<Deferred> && sizeof(Deferred) <= sizeof(kept_) &&
                  alignof(Deferred) <= alignof(LookAtDeferred));
    how_ = how;
    ::new (kept_) Deferred{what...};
  }
  [[nodiscard]] Noted look(bool may_ask) const noexcept {
    if (how_ != nullptr) {
      return how_(kept_, may_ask);
    }
    Noted noted;
    std::memcpy(&noted, kept_, sizeof(noted));
    return noted;
  }

 private:
  LookAtDeferred how_ = nullptr;  ///< null: what was noted is in kept_
  alignas(LookAtDeferred) std::byte kept_[48];
};

}  // namespace refrain::replay
