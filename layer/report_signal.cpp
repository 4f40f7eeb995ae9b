#include "layer/report_signal.h"

#include <dlfcn.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "layer/elf_symbols.h"

namespace refrain::layer {
namespace {

using Handler = void (*)(int);
using Wake = void (*)() noexcept;

/// That asks for the report; 0: none does.
std::atomic<int> report_signal{0};
std::atomic<bool> report_wanted{false};
std::atomic<Wake> wake_for_report{nullptr};
/// The driver's handler that ours took the place of.
std::atomic<Handler> displaced{nullptr};

void on_report_signal(int number) {
  const int saved = errno;
  report_wanted.store(true, std::memory_order_relaxed);
  if (const Wake wake = wake_for_report.load(); wake != nullptr) {
    wake();
  }
  if (const Handler theirs = displaced.load(); theirs != nullptr) {
    theirs(number);
  }
  errno = saved;
}

bool has_report_handler() noexcept {
  struct sigaction now {};
  return report_signal != 0 && sigaction(report_signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == &on_report_signal;
}

/// Whether a handler is an OpenCL driver's or LLVM's (whose compiler puts one there that prints what it is compiling),
/// and not the application's.
bool belongs_to_driver(Handler handler) noexcept {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(handler), &info) == 0 || info.dli_fname == nullptr) {
    return false;
  }
  const char* slash = std::strrchr(info.dli_fname, '/');
  if (std::strncmp(slash != nullptr ? slash + 1 : info.dli_fname, "libLLVM", 7) == 0) {
    return true;
  }
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return false;
  }
  const bool driver = DynamicSymbols(library).find("clIcdGetPlatformIDsKHR") != nullptr;
  dlclose(library);
  return driver;
}

void install() noexcept {
  struct sigaction now {};
  if (sigaction(report_signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler == SIG_IGN ||
      now.sa_handler == &on_report_signal) {
    return;
  }
  if (now.sa_handler != SIG_DFL) {
    if (!belongs_to_driver(now.sa_handler)) {
      return;
    }
    // LLVM's for SIGUSR2 removes its files and ends the program.
    displaced.store(report_signal == SIGUSR1 ? now.sa_handler : nullptr);
  }
  struct sigaction ours {};
  ours.sa_handler = &on_report_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(report_signal, &ours, nullptr);
}

}  // namespace

void install_report_handler(const env::Settings& settings, Wake wake) noexcept {
  if (settings.report_signal == env::ReportSignal::kOff || (!settings.report && settings.report_file.empty())) {
    return;
  }
  report_signal.store(settings.report_signal == env::ReportSignal::kUsr1 ? SIGUSR1 : SIGUSR2);
  wake_for_report.store(wake);
  install();
}

void print_wanted_report(const replay::Engine& running) noexcept {
  if (report_wanted.load(std::memory_order_relaxed) && report_wanted.exchange(false)) [[unlikely]] {
    running.write_report();
  }
}

ReportSignalKeeper::ReportSignalKeeper() noexcept : ours_(has_report_handler()) {}

ReportSignalKeeper::~ReportSignalKeeper() {
  if (ours_ && !has_report_handler()) {
    install();
  }
}

}  // namespace refrain::layer
