#include "layer/report_signal.h"

#include <dlfcn.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <utility>

namespace refrain::layer {
namespace {

int woken = 0;
int handled = 0;
void wake() noexcept {
  ++woken;
}
void handle(int /*number*/) {
  ++handled;
}

using Handler = void (*)(int);
Handler handler_of(int number) {
  struct sigaction now {};
  REQUIRE(::sigaction(number, nullptr, &now) == 0);
  return now.sa_handler;
}

void ask_for_reports(env::ReportSignal signal) {
  env::Settings settings;
  settings.report = true;
  settings.report_signal = signal;
  install_report_handler(settings, &wake);
}

TEST_CASE("a handler of the program's for the report's signal stays", "[promise-7]") {
  const auto [wanted, number] =
      GENERATE(std::pair(env::ReportSignal::kUsr1, SIGUSR1), std::pair(env::ReportSignal::kUsr2, SIGUSR2));
  woken = handled = 0;
  ::signal(number, &handle);
  ask_for_reports(wanted);
  CHECK(handler_of(number) == &handle);
  ::raise(number);
  CHECK(handled == 1);
  CHECK(woken == 0);
  ::signal(number, SIG_DFL);
}

TEST_CASE("behind a compiler that takes the report's signal it asks for the report again, and tells the compiler",
          "[promise-7]") {
  void* const driver = ::dlopen(DRIVER_FILE, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(driver != nullptr);
  const auto compilers = reinterpret_cast<Handler>(::dlsym(driver, "driver_handler"));
  const auto* const compiler_handled = static_cast<const int*>(::dlsym(driver, "driver_handled"));
  REQUIRE(compilers != nullptr);
  REQUIRE(compiler_handled != nullptr);
  woken = handled = 0;
  ask_for_reports(env::ReportSignal::kUsr1);
  {
    const ReportSignalKeeper keeper;
    ::signal(SIGUSR1, compilers);
  }
  CHECK(handler_of(SIGUSR1) != compilers);
  ::raise(SIGUSR1);
  CHECK(woken == 1);
  CHECK(*compiler_handled == 1);
  // One that the program has put there meanwhile stays, and what is the program's is nobody else's from then on.
  {
    const ReportSignalKeeper keeper;
    ::signal(SIGUSR1, &handle);
  }
  CHECK(handler_of(SIGUSR1) == &handle);
  {
    const ReportSignalKeeper keeper;
    ::signal(SIGUSR1, compilers);
  }
  CHECK(handler_of(SIGUSR1) == compilers);
  ::signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace refrain::layer
