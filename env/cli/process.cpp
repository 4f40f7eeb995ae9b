#include "env/cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

#include "env/cli/options.h"
#include "env/doctor_channel.h"

namespace refrain::env {
namespace {

// Above what programs commonly use, below the usual limit of 1024.
constexpr int kUnlikelyDescriptor = 700;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + ::strerror(errno));
}

[[noreturn]] void answer(const std::function<std::string()>& function, int descriptor) {
  std::string text;
  int status = 0;
  try {
    text = function();
  } catch (const std::exception& error) {
    text = error.what();
    status = 1;
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  // Not exit(): a driver's clean-up may hang, and is not what is asked about here.
  ::_exit(status);
}

}  // namespace

void die_with_parent() noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

ChildResult in_child(const std::function<std::string()>& function, int timeout_seconds) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    die_with_parent();
    ::close(ends[0]);
    answer(function, ends[1]);
  }
  ::close(ends[1]);
  ChildResult result;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_seconds);
  bool expired = false;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd readable{ends[0], POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    expired = ready <= 0;
    if (expired) break;
    char part[4096];
    const ssize_t count = ::read(ends[0], part, sizeof part);
    if (count <= 0) break;
    result.text.append(part, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (expired) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (expired) {
    result.failure = "gave no answer in " + std::to_string(timeout_seconds) + " s";
  } else if (WIFSIGNALED(status)) {
    result.failure = std::string("crashed (") + ::strsignal(WTERMSIG(status)) + ")";
  } else if (WEXITSTATUS(status) != 0) {
    result.failure = result.text.empty() ? "failed with " + describe_status(status) : result.text;
  }
  return result;
}

SharedDescriptor::SharedDescriptor() {
  const int memory = ::memfd_create("refrain-doctor", MFD_CLOEXEC);
  if (memory < 0) fail("memfd_create");
  number_ = ::fcntl(memory, F_DUPFD, kUnlikelyDescriptor);
  if (number_ < 0) number_ = ::fcntl(memory, F_DUPFD, 3);
  ::close(memory);
  if (number_ < 0) fail("dup");
}

SharedDescriptor::~SharedDescriptor() {
  ::close(number_);
}

std::string SharedDescriptor::name() const {
  const std::optional<FileIdentity> file = FileIdentity::of(number_);
  return std::to_string(number_) + (file ? ":" + file->text() : "");
}

std::vector<std::string> SharedDescriptor::lines() const {
  std::string text;
  char part[4096];
  while (text.size() < kLongestDoctorText) {
    const ssize_t count = ::pread(number_, part, sizeof part, static_cast<off_t>(text.size()));
    if (count <= 0) break;
    text.append(part, static_cast<std::size_t>(count));
  }
  return doctor_lines(text);
}

std::string run_anew(const std::vector<Variable>& activation, const SharedDescriptor& proof,
                     const std::vector<std::string>& words) {
  const pid_t child = ::fork();
  if (child < 0) return std::string("fork: ") + ::strerror(errno);
  if (child == 0) {
    die_with_parent();
    apply(activation);
    apply({{"REFRAIN_DOCTOR_FD", proof.name()},
           {"REFRAIN_ROOT_PID", std::to_string(::getpid())},
           {"REFRAIN_REPORT", "off"}});  // nobody asked what this process does
    std::string name = "refrain";
    std::vector<std::string> own = words;
    std::vector<char*> pointers{name.data()};
    for (std::string& word : own) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(kNotExecutable);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? std::string() : describe_status(status);
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return std::string("killed by ") + ::strsignal(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace refrain::env
