// Of programs that time each step of a loop: what part_nccl.py reads.
#pragma once

#include <chrono>
#include <cmath>
#include <thread>

#include "cuda_check.h"

namespace gpu_test {

/// Microseconds of each step; of the first third nobody wants to know.
class StepTimes {
 public:
  void begin() { start_ = Clock::now(); }
  void end() { times_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start_).count()); }

  /// "elapsed-step-us P50 P99 STEPS_PER_SECOND". Lines that begin so are compared with no other run's.
  void print() const {
    if (times_.empty()) return;
    std::vector<double> last(times_.begin() + static_cast<std::ptrdiff_t>(times_.size() / 3), times_.end());
    double sum = 0;
    for (const double time : last) sum += time;
    std::sort(last.begin(), last.end());
    const auto part = [&](double share) {
      const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(last.size())));
      return last[std::max<std::size_t>(place, 1) - 1];
    };
    std::printf("elapsed-step-us %.1f %.1f %.1f\n", part(0.5), part(0.99),
                1e6 * static_cast<double>(last.size()) / sum);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  std::vector<double> times_;
};

/// One of several that work together is late now and then: longer than anything may be held.
inline void late(int step) {
  if (step % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace gpu_test
