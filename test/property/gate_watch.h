// Opens gates that stay closed too long, so that a wait that the program did not ask for shows as a number and not as a
// process that hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "test/portable/device.h"

namespace property {

class GateWatch {
 public:
  /// `gates` must be there until stop(). `limit`: how long one may be closed.
  GateWatch(portable::Device& device, const std::vector<portable::Gate*>& gates, std::chrono::milliseconds limit);
  ~GateWatch();
  GateWatch(const GateWatch&) = delete;
  GateWatch& operator=(const GateWatch&) = delete;

  /// No gate is looked at any more.
  void stop();
  /// The gate is about to be closed. False: it is to stay open, as all do once one was late.
  bool closes(std::size_t gate);
  /// How many were found closed when the first of them was late.
  [[nodiscard]] unsigned late() const { return late_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool closed_too_long(std::size_t gate) const;
  void open_all();

  portable::Device& device_;
  const std::vector<portable::Gate*>& gates_;
  std::chrono::milliseconds limit_;
  std::vector<std::atomic<Clock::rep>> since_;
  std::atomic<unsigned> late_{0};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace property
