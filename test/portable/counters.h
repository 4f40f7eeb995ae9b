// A gate as numbers in memory that host and device share: what the kernels "await" and "bump" count (kernels.h), and
// the host's side of it.
#pragma once

#include <atomic>
#include <cstring>

#include "test/portable/device.h"

namespace portable {

class Counters {
 public:
  static constexpr std::size_t kBytes = 256;
  static constexpr std::size_t kClosed = 32;  ///< offset of the kernels' own number; what was opened comes first

  void start(void* words) {
    opened_ = static_cast<Word*>(words);
    std::memset(words, 0, kBytes);
  }
  [[nodiscard]] void* words() const { return opened_; }

  /// By the thread that submits "await".
  void close() { closed_.fetch_add(1); }
  void open() {
    std::atomic_ref opened(*opened_);
    Word now = opened.load();
    while (now < closed_.load() && !opened.compare_exchange_weak(now, now + 1)) {
    }
  }
  [[nodiscard]] bool is_open() const { return std::atomic_ref(*opened_).load() >= closed_.load(); }

 private:
  Word* opened_ = nullptr;
  std::atomic<Word> closed_{0};
};

}  // namespace portable
