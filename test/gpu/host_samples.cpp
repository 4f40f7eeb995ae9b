// Where a thread's time goes: several thousand times a second it is asked where it is, and each answer counts for the
// library that it is in. What it does in the C library, the C++ library or the dynamic linker counts for the library
// that called. A program loads it by its name and calls its two functions (case_runner.py); processors' counters, which
// would be better, are not to be had on the machines that are lent.
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kWords = 48;  ///< of the stack: who called stands there
constexpr std::size_t kMost = 400'000;
constexpr long kLeastNs = 150'000, kSpreadNs = 200'000;  ///< between two looks; not in step with what the thread does

struct Sample {
  std::uintptr_t place = 0;
  std::array<std::uintptr_t, kWords> stack{};
};
std::vector<Sample> samples;
std::atomic<std::size_t> count{0};
std::atomic<bool> running{false};
pthread_t sampler;
pid_t sampled = 0;

void on_signal(int, siginfo_t*, void* context) {
  const std::size_t number = count.load(std::memory_order_relaxed);
  if (!running.load(std::memory_order_relaxed) || number == samples.size()) return;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  samples[number].place = static_cast<std::uintptr_t>(registers[REG_RIP]);
  std::memcpy(samples[number].stack.data(), reinterpret_cast<const void*>(registers[REG_RSP]), sizeof(Sample::stack));
  count.store(number + 1, std::memory_order_relaxed);
}

void* look(void*) {
  std::uint32_t random = 1;
  while (running.load(std::memory_order_relaxed)) {
    random = random * 1103515245 + 12345;
    const timespec pause{0, kLeastNs + static_cast<long>(random >> 8U) % kSpreadNs};
    nanosleep(&pause, nullptr);
    syscall(SYS_tgkill, getpid(), sampled, SIGPROF);
  }
  return nullptr;
}

struct Code {
  std::uintptr_t begin, end;
  std::string library;
  bool helps;  ///< others are whose time it is
};

constexpr std::array kHelpers = {"libc.so", "libstdc++", "ld-linux", "linux-vdso", "libpthread"};

std::string name_of(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return path[0] == '\0' ? "program" : slash == nullptr ? path : slash + 1;
}

int add_code(dl_phdr_info* info, std::size_t, void* found) {
  const std::string name = name_of(info->dlpi_name);
  const bool helps =
      std::any_of(kHelpers.begin(), kHelpers.end(), [&](const char* each) { return name.starts_with(each); });
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      static_cast<std::vector<Code>*>(found)->push_back(
          {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz, name, helps});
  }
  return 0;
}

const Code* find(const std::vector<Code>& code, std::uintptr_t place) {
  const auto behind = std::upper_bound(code.begin(), code.end(), place,
                                       [](std::uintptr_t value, const Code& each) { return value < each.begin; });
  return behind != code.begin() && place < std::prev(behind)->end ? &*std::prev(behind) : nullptr;
}

}  // namespace

/// The calling thread is looked at from now on. 0, or -1 if there is no thread for it. Not while it is looked at
/// already.
extern "C" [[gnu::visibility("default")]] int host_samples_start() {
  samples.resize(kMost);
  count.store(0);
  sampled = static_cast<pid_t>(syscall(SYS_gettid));
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  (void)sigaction(SIGPROF, &action, nullptr);
  running.store(true);
  return pthread_create(&sampler, nullptr, look, nullptr) == 0 ? 0 : -1;
}

/// No longer. Lines of a number and a library's name, until the next call: how often it was seen there.
extern "C" [[gnu::visibility("default")]] const char* host_samples_stop() {
  static std::string text;
  running.store(false);
  pthread_join(sampler, nullptr);
  std::vector<Code> code;
  dl_iterate_phdr(add_code, &code);
  std::sort(code.begin(), code.end(), [](const Code& a, const Code& b) { return a.begin < b.begin; });
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < count.load(); ++i) {
    const Code* owner = find(code, samples[i].place);
    for (std::size_t word = 0; (owner == nullptr || owner->helps) && word < kWords; ++word)
      if (const Code* const caller = find(code, samples[i].stack[word]); caller != nullptr && !caller->helps)
        owner = caller;
    ++seen[owner == nullptr ? "unknown" : owner->library];
  }
  text.clear();
  for (const auto& [library, times] : seen) text += std::to_string(times) + " " + library + "\n";
  return text.c_str();
}
