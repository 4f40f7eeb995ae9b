#include "test/sim/core/history.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "test/sim/core/calls.h"
#include "test/sim/core/schedule.h"
#include "test/sim/core/settings.h"

namespace sim {
namespace {

struct Entry {
  const char* call = nullptr;  ///< null: a submission
  pid_t thread = 0;
  std::uint64_t number = 0;
  const char* task = nullptr;
  const void* queue = nullptr;
  Address to = 0, from = 0;
  std::size_t bytes = 0;
  std::array<std::uint64_t, 6> after{};
  std::size_t after_count = 0;
  std::size_t waits = 0, sets = 0, resets = 0;
};

constexpr std::size_t kEntries = 4096;

struct History {
  std::mutex mutex;
  std::array<Entry, kEntries> ring;
  std::uint64_t count = 0;
};
History& all() noexcept {
  static History& one = *new History;
  return one;
}

pid_t thread_number() noexcept {
  thread_local const pid_t number = static_cast<pid_t>(syscall(SYS_gettid));
  return number;
}

void keep(const Entry& entry) noexcept {
  History& history = all();
  const std::lock_guard guard(history.mutex);
  history.ring[history.count++ % kEntries] = entry;
}

std::string text_of(const Entry& entry) {
  char line[256];
  if (entry.call != nullptr) {
    std::snprintf(line, sizeof(line), "thread %d calls %s", static_cast<int>(entry.thread), entry.call);
    return line;
  }
  std::snprintf(line, sizeof(line), "  operation %llu: %s", static_cast<unsigned long long>(entry.number), entry.task);
  std::string text = line;
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(line, sizeof(line), format, values...);
    text += line;
  };
  if (entry.bytes != 0) {
    add(" of %zu bytes to %llx", entry.bytes, entry.to);
    if (entry.from != 0) {
      add(" from %llx", entry.from);
    }
  }
  if (entry.queue != nullptr) {
    add(" in queue %p", entry.queue);
  }
  for (std::size_t i = 0; i < std::min(entry.after_count, entry.after.size()); ++i) {
    add(i == 0 ? " after %llu" : ", %llu", static_cast<unsigned long long>(entry.after[i]));
  }
  if (entry.after_count > entry.after.size()) {
    add(" and %zu more", entry.after_count - entry.after.size());
  }
  if (entry.waits + entry.sets + entry.resets != 0) {
    add("; waits for %zu signals, sets %zu, resets %zu", entry.waits, entry.sets, entry.resets);
  }
  return text;
}

}  // namespace

void remember_call(const char* name) noexcept {
  Entry entry;
  entry.call = name;
  entry.thread = thread_number();
  keep(entry);
}

void remember_submission(const Operation& operation, std::span<const std::shared_ptr<Operation>> after,
                         const void* queue) noexcept {
  Entry entry;
  entry.thread = thread_number();
  entry.number = operation.number;
  entry.task = operation.task.name();
  entry.queue = queue;
  entry.to = operation.task.to.start;
  entry.from = operation.task.from.start;
  entry.bytes = operation.task.bytes * operation.task.height * operation.task.depth;
  for (const auto& before : after) {
    if (before != nullptr) {
      if (entry.after_count < entry.after.size()) {
        entry.after[entry.after_count] = before->number;
      }
      ++entry.after_count;
    }
  }
  entry.waits = operation.signals.waits.size();
  entry.sets = operation.signals.sets.size();
  entry.resets = operation.signals.resets.size();
  keep(entry);
}

std::string history(std::span<const std::uint64_t> operations) {
  History& kept = all();
  const std::lock_guard guard(kept.mutex);
  const std::uint64_t shown = std::min<std::uint64_t>(kept.count, settings().history);
  const std::uint64_t oldest = kept.count - std::min<std::uint64_t>(kept.count, kEntries);
  std::string text;
  for (std::uint64_t at = oldest; at < kept.count; ++at) {
    const Entry& entry = kept.ring[at % kEntries];
    const bool named =
        entry.call == nullptr && std::find(operations.begin(), operations.end(), entry.number) != operations.end();
    if (named || at >= kept.count - shown) {
      text += text_of(entry) + "\n";
    }
  }
  return text;
}

void violation_of(std::initializer_list<std::uint64_t> operations, const char* format, ...) noexcept {
  char line[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  report_violation(line, history({operations.begin(), operations.size()}).c_str());
}

}  // namespace sim
