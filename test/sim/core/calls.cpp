#include "test/sim/core/calls.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "test/sim/core/history.h"
#include "test/sim/core/settings.h"
#include "test/support/refusal.h"

namespace sim {
namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> submissions{0};
std::atomic<pid_t> owner{0};
std::atomic<bool> ended{false};

struct Violations {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::size_t count = 0;
};
constexpr std::size_t kMostViolations = 100;
Violations& all_violations() noexcept {
  static Violations& all = *new Violations;
  return all;
}

/// SIM_STUCK.
void stay_if_stuck(const char* name) noexcept {
  char thread[16] = "";
  if (settings().stuck != name || pthread_getname_np(pthread_self(), thread, sizeof(thread)) != 0 ||
      std::strncmp(thread, "refrain-", 8) != 0) {
    return;
  }
  std::fprintf(stderr, "sim: %s does not return to %s\n", name, thread);
  while (true) {
    pause();
  }
}

Entered inject(const char* name) noexcept {
  std::fprintf(stderr, "sim: failure injected into %s\n", name);
  return Entered::kInjected;
}

void write_count() {
  if (const char* path = settings().count.c_str(); *path != '\0') {
    if (std::FILE* file = std::fopen(path, "w"); file != nullptr) {
      std::fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(submissions.load()),
                   static_cast<unsigned long long>(calls.load()));
      std::fclose(file);
    }
  }
}

}  // namespace

void log(const char* text) noexcept {
  static const int file = [] {
    const char* path = settings().log.c_str();
    return *path == '\0' ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  if (file < 0) {
    return;
  }
  char line[256];
  const int length = std::snprintf(line, sizeof(line), "%s\n", text);
  [[maybe_unused]] const ssize_t written = write(file, line, static_cast<std::size_t>(length));
}

void logf(const char* format, ...) noexcept {
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  log(line);
}

void violation(const char* format, ...) noexcept {
  char line[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  report_violation(line, history({}).c_str());
}

void report_violation(const char* text, const char* history) noexcept {
  Violations& all = all_violations();
  const std::lock_guard guard(all.mutex);
  if (++all.count > kMostViolations) {  // one mistake may be found again and again
    return;
  }
  std::fprintf(stderr, "sim: violation: %s\n", text);
  for (const char* line = history; *line != '\0';) {
    const std::size_t length = std::strcspn(line, "\n");
    std::fprintf(stderr, "sim:   %.*s\n", static_cast<int>(length), line);
    line += length + (line[length] == '\n' ? 1 : 0);
  }
  all.texts.emplace_back(text);
}

std::vector<std::string> take_violations() {
  Violations& all = all_violations();
  const std::lock_guard guard(all.mutex);
  all.count = 0;
  return std::exchange(all.texts, {});
}

bool start() noexcept {
  pid_t expected = 0;
  if (owner.compare_exchange_strong(expected, getpid())) {
    std::atexit(&write_count);
    return true;
  }
  return expected == getpid();
}

Entered enter(const char* name) noexcept {
  log(name);
  remember_call(name);
  if (!settings().stuck.empty()) [[unlikely]] {
    stay_if_stuck(name);
  }
  if (owner.load(std::memory_order_relaxed) != getpid()) {
    return Entered::kNotStarted;
  }
  if (ended.load(std::memory_order_relaxed)) {
    return Entered::kEnded;
  }
  if (support::Refusal* refusal = support::Refusal::find(); refusal != nullptr && refusal->refuses(name)) {
    return Entered::kInjected;
  }
  return calls.fetch_add(1) + 1 == settings().fail_call ? inject(name) : Entered::kOk;
}

namespace {
/// Of the calling thread.
void take_time(double us) noexcept {
  if (us > 0) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(us);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
}
}  // namespace

Entered enter_submission(const char* name) noexcept {
  const Entered entered = enter(name);
  if (entered != Entered::kOk) {
    return entered;
  }
  const std::uint64_t number = submissions.fetch_add(1) + 1;
  const Settings& wanted = settings();
  take_time(wanted.call_us);
  if (number == wanted.end_at) {
    std::atexit([] { ended.store(true); });
  }
  const bool fails = wanted.fail_at != 0 && number >= wanted.fail_at && number - wanted.fail_at < wanted.fail_count;
  return fails ? inject(name) : Entered::kOk;
}

}  // namespace sim
