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
  const char* unholdable = nullptr;  ///< see Submission::unholdable
};

/// Asked of the layer when a submission that it kept is looked at, in the thread that made it. `may_ask`: the driver
/// may be called now, about what still exists (Lane::while_nothing_gone()). Must not throw.
using LookAtKept = Noted (*)(const std::byte* kept, bool may_ask);

/// One cache line: more is seldom left of them between two calls of a driver.
class alignas(64) Unseen {
 public:
  void note(const Noted& noted) noexcept {
    how_ = nullptr;
    std::memcpy(kept_, &noted, sizeof(noted));
  }
  /// A `Kept` is made of `what`, in its place (a copy of it would be read before it is written), and `how` will be
  /// given its bytes.
  template <class Kept, class... What>
  void keep(LookAtKept how, const What&... what) noexcept {
    static_assert(std::is_trivially_copyable_v<Kept> && sizeof(Kept) <= sizeof(kept_) &&
                  alignof(Kept) <= alignof(LookAtKept));
    how_ = how;
    ::new (kept_) Kept{what...};
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
  LookAtKept how_ = nullptr;  ///< null: what was noted is in kept_
  alignas(LookAtKept) std::byte kept_[48];
};

}  // namespace refrain::replay
