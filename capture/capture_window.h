// Which part of a program is captured: what comes after so many stretches, for so long.
#pragma once

#include <cstdint>

namespace refrain::capture {

/// Of all lanes together. Not thread-safe.
class CaptureWindow {
 public:
  /// `skipped`: stretches that are left out first. `length_ns`: for so long from then on; 0: to the end.
  CaptureWindow(std::uint64_t skipped, std::uint64_t length_ns) noexcept : to_skip_(skipped), length_ns_(length_ns) {}

  /// Whether a stretch that begins now is captured.
  [[nodiscard]] bool takes(std::uint64_t now_ns) noexcept {
    if (!closed() && length_ns_ != 0) {
      begin_ns_ = begin_ns_ == 0 ? now_ns : begin_ns_;
      over_ = now_ns > begin_ns_ && now_ns - begin_ns_ >= length_ns_;
    }
    return !closed();
  }
  /// One that was not captured has ended.
  void skipped() noexcept { to_skip_ -= to_skip_ != 0 ? 1 : 0; }
  /// Not now: not yet, or no more.
  [[nodiscard]] bool closed() const noexcept { return to_skip_ != 0 || over_; }
  /// Nothing more will be captured.
  [[nodiscard]] bool over() const noexcept { return over_; }
  /// Stretches that would still be left out.
  [[nodiscard]] std::uint64_t to_skip() const noexcept { return to_skip_; }

 private:
  std::uint64_t to_skip_;
  const std::uint64_t length_ns_;
  std::uint64_t begin_ns_ = 0;  ///< 0: nothing was captured yet
  bool over_ = false;
};

}  // namespace refrain::capture
