#include "test/support/hang.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace refrain::test {
namespace {

struct Process {
  pid_t parent = 0;
  std::uint64_t ticks = 0;  ///< of processor time
};

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> result;
  DIR* const folder = opendir("/proc");
  while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder)) {
    const auto process = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    std::array<char, 1024> line{};
    const std::string path = std::string("/proc/") + entry->d_name + "/stat";
    const int file = process > 0 ? open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
      continue;
    }
    const ssize_t got = read(file, line.data(), line.size() - 1);
    close(file);
    const char* const behind_name = got > 0 ? std::strrchr(line.data(), ')') : nullptr;
    long long parent = 0;
    unsigned long long user = 0;
    unsigned long long system = 0;
    if (behind_name != nullptr &&
        // NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers
        std::sscanf(behind_name + 1, " %*c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &parent, &user,
                    &system) == 3) {
      result[process] = {static_cast<pid_t>(parent), user + system};
    }
  }
  if (folder != nullptr) {
    closedir(folder);
  }
  return result;
}

/// The process and what it started, and what those did …
std::vector<pid_t> family_of(pid_t process, const std::map<pid_t, Process>& all) {
  std::vector<pid_t> family{process};
  for (std::size_t i = 0; i < family.size(); ++i) {
    for (const auto& [id, other] : all) {
      if (other.parent == family[i]) {
        family.push_back(id);
      }
    }
  }
  return family;
}

/// Of this process. Its file in /proc says nothing under an emulator of another processor.
std::uint64_t own_ticks() noexcept {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  constexpr long kTickNs = 10'000'000;
  return static_cast<std::uint64_t>(used.tv_sec) * 100 + static_cast<std::uint64_t>(used.tv_nsec / kTickNs);
}

/// What the watching thread of this process knows. Never destroyed.
struct Watched {
  std::mutex mutex;
  std::string doing;
  /// Held while the thread asks for memory, and by who forks: AddressSanitizer's run time does not see to it that a
  /// child, too, can have memory then.
  std::mutex looking;
  std::atomic<bool> begun{false};  ///< to begin with it asks for memory, too
  std::atomic<int> not_watched{0};
};
Watched& watched() {
  static auto& one = *new Watched;
  return one;
}

void watch() {
  IdleWatch idle(getpid());
  watched().begun = true;
  watched().begun.notify_all();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::unique_lock looking(watched().looking);
    if (watched().not_watched.load() != 0) {
      idle.begin_again();
    } else if (idle.hangs()) {
      looking.unlock();
      prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
      const std::string stacks = stacks_of(getpid());
      const std::lock_guard guard(watched().mutex);
      std::fprintf(stderr, "It hangs, and is ended: %s\n%s", watched().doing.c_str(), stacks.c_str());
      std::fflush(nullptr);
      _exit(1);
    }
  }
}

}  // namespace

bool IdleWatch::hangs() {
  const std::map<pid_t, Process> all = all_processes();
  std::uint64_t ticks = 0;
  for (const pid_t process : family_of(process_, all)) {
    const auto found = all.find(process);
    ticks += process == getpid() ? own_ticks() : found == all.end() ? 0 : found->second.ticks;
  }
  const auto now = std::chrono::steady_clock::now();
  // A thread that only looks now and then whether it should end uses a hundredth of a second in a while, too.
  constexpr std::uint64_t kNothing = 20;
  if (ticks < ticks_ || ticks > ticks_ + kNothing) {
    ticks_ = ticks;
    since_ = now;
  }
  return now - since_ >= kIdleFor;
}

std::string stacks_of(pid_t process) {
  std::string text;
  for (const pid_t each : family_of(process, all_processes())) {
    const std::string command = "eu-stack -p " + std::to_string(each) + " 2>&1";
    std::FILE* const output = popen(command.c_str(), "re");
    std::array<char, 4096> part{};
    for (std::size_t got = 1; output != nullptr && got != 0;) {
      got = fread(part.data(), 1, part.size(), output);
      text.append(part.data(), got);
    }
    if (output == nullptr || pclose(output) == 127 << 8) {
      text += "no stacks without eu-stack, of elfutils\n";
    }
  }
  return text;
}

void watch_this_process() noexcept {
  try {
    pthread_atfork([] { watched().looking.lock(); }, [] { watched().looking.unlock(); },
                   [] { watched().looking.unlock(); });
    std::thread(&watch).detach();
    watched().begun.wait(false);
  } catch (const std::exception&) {
    // Then ctest's limit ends it.
  }
}

void now_doing(const std::string& what) noexcept {
  const std::lock_guard guard(watched().mutex);
  watched().doing = what;
}

NotWatched::NotWatched() noexcept {
  ++watched().not_watched;
}
NotWatched::~NotWatched() {
  --watched().not_watched;
}

}  // namespace refrain::test
