// The parameters of one launch, as pointers: on the stack unless there are very many. Not a thread_local vector,
// because what a thread holds at its end is submitted when thread_local objects are already being destroyed.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace refrain::backends {

class PointerList {
 public:
  void clear() noexcept {
    count_ = 0;
    many_.clear();
  }
  void push_back(void* pointer) {
    if (count_ < few_.size()) {
      few_[count_] = pointer;
    } else {
      if (many_.empty()) {
        many_.assign(few_.begin(), few_.end());
      }
      many_.push_back(pointer);
    }
    ++count_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// Valid until the list is changed, copied from or destroyed.
  [[nodiscard]] void** data() noexcept { return many_.empty() ? few_.data() : many_.data(); }
  [[nodiscard]] void*& operator[](std::size_t index) noexcept { return data()[index]; }

 private:
  std::array<void*, 32> few_;  // only the first count_ are set
  std::vector<void*> many_;
  std::size_t count_ = 0;
};

}  // namespace refrain::backends
