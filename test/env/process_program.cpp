// What programs do with descriptors, limits, signals and their own end, in the middle of work on a device. Knows
// nothing of Refrain; what it prints is right without it.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/portable/device.h"
#include "test/portable/kernels.h"

namespace {

using namespace portable;

constexpr int kLoops = 300;

class Work {
 public:
  Work() {
    const Word none[64] = {};
    device_->write(queue_, {memory_, 0}, none, sizeof(none));
  }
  ~Work() {
    device_->release(kernel_);
    device_->release(memory_);
    device_->release(queue_);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  /// Eight launches and a wait, so many times.
  void loops(int times = kLoops) {
    for (int i = 0; i < times; ++i) {
      for (int j = 0; j < 8; ++j) {
        scale(*device_, queue_, kernel_, memory_, 64, 1, 1);
      }
      device_->synchronize(queue_);
    }
  }
  Word result() {
    Word words[64];
    device_->read(queue_, words, {memory_, 0}, sizeof(words));
    return words[0];
  }

 private:
  std::unique_ptr<Device> device_ = make_device();
  Queue* queue_ = device_->make_queue(QueueKind::kInOrder);
  Memory* memory_ = device_->allocate(Place::kDevice, 64 * sizeof(Word));
  Kernel* kernel_ = device_->find_kernel("scale");
};

void print(const char* what, Word value) {
  std::printf("%s %u\n", what, value);
  std::fflush(stdout);
}

void write_text(int file, const char* text) {
  if (::write(file, text, std::strlen(text)) < 0) {
    std::abort();
  }
}

/// A daemon's habit: closes what it inherited, and opens a file of its own.
int closer(const char* file) {
  Work work;
  work.loops();
  std::vector<int> closed;
  for (int number = 3; number < 5000; ++number) {
    if (::close(number) == 0) {
      closed.push_back(number);
    }
  }
  const int results = ::open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (const int number : closed) {  // whoever had it writes into this file
    ::dup2(results, number);
  }
  write_text(results, "a,b\n");
  work.loops();
  ::usleep(700'000);
  work.loops();
  write_text(results, "1,2\n");
  print("result", work.result());
  return 0;
}

/// Without a standard error, so that the next file gets its number.
int no_stderr(const char* file) {
  ::close(STDERR_FILENO);
  const int results = ::open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  write_text(results, "a\n");
  Work work;
  work.loops();
  write_text(results, "b\n");
  print("result", work.result());
  return results == STDERR_FILENO ? 0 : 1;
}

/// Under a limit of files' sizes.
int limited() {
  Work work;
  work.loops(10);  // OpenCL compilers write files, too
  const rlimit limit{100, 100};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  work.loops();
  ::usleep(700'000);
  work.loops();
  print("result", work.result());
  return 0;
}

void on_term(int) {
  write_text(STDOUT_FILENO, "handled\n");
  ::_exit(7);
}

[[noreturn]] void end(const std::string& way) {
  if (way == "_exit") ::_exit(5);
  if (way == "_Exit") ::_Exit(5);
  if (way == "quick_exit") ::quick_exit(5);
  if (way == "abort") ::abort();
  if (way == "exit") ::exit(5);
  if (way == "handled") ::signal(SIGTERM, on_term);
  if (way == "thread") std::thread([] { ::_exit(5); }).join();
  const int number = way == "interrupt" ? SIGINT : way == "hang-up" ? SIGHUP : SIGTERM;
  ::kill(::getpid(), number);
  for (;;) {
    ::pause();
  }
}

int ending(const std::string& way) {
  Work work;
  work.loops();
  print("result", work.result());
  end(way);
}

/// Workers that are forked before anything was done with the device, as Python's multiprocessing has them.
int workers(const std::string& way) {
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      Work work;
      work.loops();
      end(way);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    print("status", static_cast<Word>(status));
  }
  return 0;
}

/// A child that is forked in the middle, and ends while its parent goes on.
int forked(const std::string& way) {
  Work work;
  work.loops();
  const pid_t child = ::fork();
  if (child == 0) {
    end(way);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  print("status", static_cast<Word>(status));
  work.loops();
  print("result", work.result());
  return 0;
}

const char* name_of_handler(void (*handler)(int)) {
  return handler == SIG_DFL ? "default" : handler == SIG_IGN ? "ignored" : handler == on_term ? "own" : "somebody's";
}

/// The calls that nobody should use any more.
void older_calls(int number) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  std::printf(", %s", name_of_handler(::ssignal(number, on_term)));
  std::printf(", %s", name_of_handler(::sigset(number, SIG_DFL)));
  std::printf(", %s", name_of_handler(::sigset(number, SIG_DFL)));
  ::siginterrupt(number, 1);
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  std::printf(", %s, flags %x", name_of_handler(now.sa_handler), static_cast<unsigned>(now.sa_flags));
  ::sigignore(number);
  std::printf(", %s", name_of_handler(::signal(number, SIG_DFL)));
#pragma GCC diagnostic pop
}

/// Of the whole program nothing changes errno but the driver, which leaves 0 alone here or does so without us as well.
int errors() {
  errno = 0;
  Work work;
  std::printf("after the start %d\n", errno);
  for (int i = 0; i < 20; ++i) {
    errno = 0;
    work.loops(30);
    if (errno != 0) std::printf("loop %d: %d\n", i, errno);
    ::usleep(2000);
  }
  print("result", work.result());
  return 0;
}

/// As the first process of a container, a signal that it has no handler for is not delivered to it.
int first_process() {
  Work work;
  work.loops();
  ::kill(::getpid(), SIGTERM);
  work.loops();
  print("result", work.result());
  return ::getpid() == 1 ? 0 : 1;
}

int signals() {
  Work work;
  work.loops();
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU}) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    std::printf("%d: %s, flags %x, mask %d", number, name_of_handler(now.sa_handler),
                static_cast<unsigned>(now.sa_flags), ::sigismember(&now.sa_mask, SIGUSR1));
    std::printf(", %s", name_of_handler(::signal(number, on_term)));
    std::printf(", %s", name_of_handler(::signal(number, SIG_IGN)));
    std::printf(", %s", name_of_handler(::signal(number, SIG_DFL)));
    struct sigaction before {};
    ::sigaction(number, &now, &before);
    std::printf(", %s", name_of_handler(before.sa_handler));
    older_calls(number);
    ::sigaction(number, &now, &before);
    std::printf(", %s\n", name_of_handler(before.sa_handler));
  }
  errno = 0;
  std::printf("refused %d", ::signal(SIGKILL, SIG_IGN) == SIG_ERR ? errno : 0);
  std::printf(" %d\n", ::sigaction(1000, nullptr, nullptr) != 0 ? errno : 0);
  std::fflush(stdout);
  if (::system("kill -TERM $$") != SIGTERM) return 1;
  return 0;
}

/// Nothing but work.
int plain() {
  Work work;
  work.loops();
  print("result", work.result());
  return 0;
}

/// Sends itself a signal that ends a program which does not expect it.
int unexpected(int number) {
  Work work;
  work.loops();
  ::kill(::getpid(), number);
  work.loops();
  print("result", work.result());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const char* const argument = count > 2 ? words[2] : "";
  if (what.empty()) return plain();
  if (what == "closer") return closer(argument);
  if (what == "no-stderr") return no_stderr(argument);
  if (what == "limited") return limited();
  if (what == "ending") return ending(argument);
  if (what == "workers") return workers(argument);
  if (what == "forked") return forked(argument);
  if (what == "signals") return signals();
  if (what == "errors") return errors();
  if (what == "first-process") return first_process();
  if (what == "usr1") return unexpected(SIGUSR1);
  if (what == "usr2") return unexpected(SIGUSR2);
  return 2;
}
