// One call of a driver is refused, and the program says which while it runs: a few words in a file that the program and
// the driver that stands in for a real one both map. REFUSAL_FILE names it; it is made by whoever starts the program.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace support {

/// Any thread.
class Refusal {
 public:
  static constexpr std::size_t kFileBytes = 4096;

  /// Null if there is no such file.
  static Refusal* find() noexcept {
    static Refusal* const found = map();
    return found;
  }

  // The program says:
  /// The next call is refused, or, for 2, the one after it … Those count whose name contains `part`; `others_only`: and
  /// that come from threads the program has not told of, which are not its own.
  void refuse(std::int64_t number, std::string_view part, bool others_only) noexcept {
    name_[0].store('\0');
    for (std::size_t i = 0; i < part_.size(); ++i) {
      part_.at(i).store(i < part.size() && i + 1 < part_.size() ? part[i] : '\0');
    }
    others_only_.store(others_only);
    left_.store(number);
  }
  void forget() noexcept { left_.store(0); }
  /// Of the program; at most kThreads.
  void add_thread() noexcept { threads_.at(count_.fetch_add(1) % kThreads).store(thread()); }
  /// Which function was refused; empty if none was.
  [[nodiscard]] std::string name() const {
    char copy[kName];
    return text(name_, copy);
  }

  // The driver asks, in each call:
  [[nodiscard]] bool refuses(const char* function) noexcept {
    if (char part[kName]; left_.load(std::memory_order_relaxed) <= 0 ||
                          std::strstr(function, text(part_, part)) == nullptr ||
                          (others_only_.load() && is_programs(thread())) || left_.fetch_sub(1) != 1) {
      return false;
    }
    const std::size_t length = std::strlen(function);
    for (std::size_t i = 1; i < name_.size(); ++i) {
      name_.at(i).store(i < length && i + 1 < name_.size() ? function[i] : '\0');
    }
    name_[0].store(function[0]);
    return true;
  }

 private:
  static constexpr std::size_t kThreads = 8;
  static constexpr std::size_t kName = 64;
  using Text = std::array<std::atomic<char>, kName>;

  static const char* text(const Text& from, char (&copy)[kName]) noexcept {
    for (std::size_t i = 0; i < kName; ++i) {
      copy[i] = from.at(i).load();
    }
    return copy;
  }

  static std::int32_t thread() noexcept { return static_cast<std::int32_t>(::syscall(SYS_gettid)); }
  [[nodiscard]] bool is_programs(std::int32_t which) const noexcept {
    for (const auto& each : threads_) {
      if (each.load() == which) {
        return true;
      }
    }
    return false;
  }
  static Refusal* map() noexcept {
    const char* path = std::getenv("REFUSAL_FILE");
    const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
      return nullptr;
    }
    void* const page = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return page == MAP_FAILED ? nullptr : static_cast<Refusal*>(page);  // zeros are a Refusal that refuses nothing
  }

  std::atomic<std::int64_t> left_;
  std::atomic<bool> others_only_;
  std::atomic<std::uint32_t> count_;
  std::array<std::atomic<std::int32_t>, kThreads> threads_;
  Text part_;
  Text name_;
};
static_assert(sizeof(Refusal) <= Refusal::kFileBytes);

}  // namespace support
