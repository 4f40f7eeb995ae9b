#include "env/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

namespace refrain::env {
namespace {

constexpr int kSlowReaderMs = 100;
constexpr int kMostNames = 1000;

// Descriptors are as low as possible by rule, so the highest ones are the last that a program misses or opens. Far
// above, each fork would copy a long table.
constexpr rlim_t kHighest = 4096;
constexpr rlim_t kRoom = 32;
constexpr rlim_t kLowest = 10;

/// What write() may cause does not reach the program: SIGPIPE, SIGXFSZ.
class WithoutSignals {
 public:
  WithoutSignals() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    sigemptyset(&ours_);
    for (const int number : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, number) != 1) {  // else it is the program's, and comes once anyway
        sigaddset(&ours_, number);
      }
    }
    blocked_ = pthread_sigmask(SIG_BLOCK, &ours_, &before_) == 0;
  }
  ~WithoutSignals() {
    if (!blocked_) return;
    const timespec none{};
    while (sigtimedwait(&ours_, nullptr, &none) > 0 || errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t ours_;
  sigset_t before_;
  bool blocked_ = false;
};

/// The same file at a high number; closes `descriptor`, which ends locks. Negative, with errno, if there is no room.
int lift(int descriptor) noexcept {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const rlim_t end = std::min(known ? limit.rlim_cur : rlim_t{256}, kHighest);
  int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(end > kLowest + kRoom ? end - kRoom : kLowest));
  if (high < 0) {
    high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(kLowest));
  }
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return high;
}

/// Whether an opened file may be written from its beginning: nobody's work is lost, and nobody else will do the same.
bool is_free(int descriptor) noexcept {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return false;
  if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) return true;
  if (!S_ISREG(status.st_mode) || status.st_size != 0) return false;
  // A lock of the process, not of the open file: children that outlive us do not keep it.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN)) return false;
  return ::fstat(descriptor, &status) == 0 && status.st_size == 0;
}

/// "x.rfn" → "x.123.rfn", "x.123.2.rfn", …
std::string further_name(const std::string& name, int number) {
  const std::filesystem::path path(name);
  std::string middle = "." + std::to_string(::getpid());
  if (number > 1) middle += "." + std::to_string(number);
  return (path.parent_path() / (path.stem().string() + middle + path.extension().string())).string();
}

}  // namespace

std::optional<FileIdentity> FileIdentity::of(int descriptor) noexcept {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

std::string FileIdentity::text() const {
  return std::to_string(device) + ":" + std::to_string(inode);
}

std::optional<FileIdentity> FileIdentity::from(std::string_view text) noexcept {
  FileIdentity result;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, result.device);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, result.inode);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return result;
}

OwnFile::~OwnFile() {
  const int descriptor = descriptor_.load();
  if (!borrowed_ && descriptor >= 0 && FileIdentity::of(descriptor) == file_) {
    ::close(descriptor);
  }
}

int OwnFile::take(int descriptor, const std::string& name) {
  const int high = lift(descriptor);
  if (high < 0) return errno;
  struct stat status {};
  if (::fstat(high, &status) != 0) return errno;
  file_ = {status.st_dev, status.st_ino};
  regular_ = S_ISREG(status.st_mode);
  name_ = name;
  descriptor_.store(high);
  return 0;
}

int OwnFile::append_to(const std::string& name) {
  const std::string absolute = std::filesystem::absolute(name).string();
  const int descriptor =
      ::open(absolute.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  return descriptor < 0 ? errno : take(descriptor, absolute);
}

int OwnFile::create(const std::string& name) {
  const std::string absolute = std::filesystem::absolute(name).string();
  for (int number = 0; number < kMostNames; ++number) {
    const std::string candidate = number == 0 ? absolute : further_name(absolute, number);
    // Without waiting for a pipe's reader to come; with waiting for it to read.
    const int descriptor =
        ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (descriptor < 0) return errno;
    if (const int error = take(descriptor, candidate); error != 0) return error;
    if (is_free(descriptor_)) {
      ::fcntl(descriptor_, F_SETFL, O_APPEND);
      return 0;
    }
    ::close(descriptor_.exchange(-1));
  }
  return EEXIST;
}

void OwnFile::borrow(int descriptor, FileIdentity file) noexcept {
  file_ = file;
  borrowed_ = true;
  descriptor_.store(descriptor);
}

int OwnFile::checked() noexcept {
  int descriptor = descriptor_.load();
  if (descriptor >= 0 && FileIdentity::of(descriptor) == file_) return descriptor;
  if (borrowed_ || !regular_) return -1;
  const int again = ::open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (again < 0) return -1;
  if (FileIdentity::of(again) != file_) {
    ::close(again);
    return -1;
  }
  const int high = lift(again);
  if (high < 0) return -1;
  // The earlier number is the program's now. Another thread may have done the same meanwhile.
  if (descriptor_.compare_exchange_strong(descriptor, high)) return high;
  ::close(high);
  return descriptor;
}

int OwnFile::write(std::span<const std::byte> bytes, std::size_t* written) noexcept {
  const WithoutSignals guard;
  std::size_t done = 0;
  int error = 0;
  while (done < bytes.size() && error == 0) {
    const int descriptor = checked();
    const ssize_t now = descriptor < 0 ? -1 : ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (descriptor < 0) {
      error = EBADF;
    } else if (now > 0) {
      done += static_cast<std::size_t>(now);
    } else if (now < 0 && errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      error = ::poll(&room, 1, kSlowReaderMs) > 0 ? 0 : EAGAIN;  // lost rather than the program stuck
    } else if (now == 0 || errno != EINTR) {
      error = now == 0 ? ENOSPC : errno;
    }
  }
  if (written != nullptr) *written = done;
  return error;
}

void OwnFile::cut(std::size_t size) noexcept {
  if (const int descriptor = checked(); descriptor >= 0) {
    [[maybe_unused]] const int result = ::ftruncate(descriptor, static_cast<off_t>(size));
  }
}

}  // namespace refrain::env
