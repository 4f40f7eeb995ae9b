#include "layer/report_signal.h"

#include <signal.h>

#include <atomic>

namespace refrain::layer {
namespace {

std::atomic<bool> report_wanted{false};

void on_report_signal(int /*number*/) {
  report_wanted.store(true, std::memory_order_relaxed);
}

}  // namespace

void install_report_handler() noexcept {
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) {
    return;
  }
  struct sigaction ours {};
  ours.sa_handler = &on_report_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGUSR1, &ours, nullptr);
}

void print_wanted_report(const replay::Engine& running) noexcept {
  if (report_wanted.load(std::memory_order_relaxed) && report_wanted.exchange(false)) [[unlikely]] {
    running.write_report();
  }
}

}  // namespace refrain::layer
