#include "env/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "env/file_name.h"
#include "env/immortal.h"
#include "env/older_files.h"
#include "env/without_signals.h"

namespace refrain::env {
namespace {

constexpr int kSlowReaderMs = 100;
constexpr int kMostNames = 1000;
constexpr int kMostAttempts = 16;

// Descriptors are as low as possible by rule, so the highest ones are the last that a program misses or opens. Far
// above, each fork would copy a long table. And above what the table has room for, the kernel makes a larger one: where
// threads share it, whoever asks sleeps until every processor has been through the scheduler, many milliseconds.
constexpr rlim_t kHighest = 4096;
constexpr rlim_t kRoom = 32;
constexpr rlim_t kLowest = 10;

constexpr int kHow = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

class RefusalCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "refrain file"; }
  [[nodiscard]] std::string message(int refusal) const override {
    switch (static_cast<FileRefusal>(refusal)) {
      case FileRefusal::kLink: return "it is a symbolic link, which is not followed; name the file that it leads to";
      case FileRefusal::kSpecial:
        return "it is a FIFO, a socket or a device, which are written to only as /dev/stdout, /dev/stderr, /dev/null "
               "or /dev/fd/NUMBER";
      case FileRefusal::kForeign:
        return "it is another user's file, or has several names, in a folder that others may write to; name another";
    }
    return "it is not written to";
  }
};

std::error_code system_error(int number) noexcept {
  return {number, std::system_category()};
}

/// Names by which a user says that a descriptor is meant, whatever it is.
bool names_descriptor(std::string_view name) noexcept {
  if (name == "/dev/stdout" || name == "/dev/stderr" || name == "/dev/null") return true;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (name.size() > folder.size() && name.starts_with(folder)) {
      return name.find_first_not_of("0123456789", folder.size()) == std::string_view::npos;
    }
  }
  return false;
}

/// Whether others than this user (and root) may make and exchange files beside `name`.
bool in_shared_folder(const std::string& name) {
  struct stat folder {};
  const std::filesystem::path parent = std::filesystem::path(name).parent_path();
  return ::stat(parent.c_str(), &folder) != 0 || (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
         (folder.st_uid != 0 && folder.st_uid != ::geteuid());
}

/// What speaks against writing to a file that is there.
std::error_code refusal(const struct stat& status, const std::string& name) {
  if (S_ISLNK(status.st_mode)) return FileRefusal::kLink;
  if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
  if (!S_ISREG(status.st_mode)) return FileRefusal::kSpecial;
  if ((status.st_uid != ::geteuid() || status.st_nlink > 1) && in_shared_folder(name)) return FileRefusal::kForeign;
  return {};
}

/// When the file was made; 0 if the file system does not know.
std::int64_t birth_of(int descriptor) noexcept {
  struct statx status {};
  if (::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BTIME, &status) != 0 ||
      (status.stx_mask & STATX_BTIME) == 0) {
    return 0;
  }
  return status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec;
}

/// How many descriptors the process' table has room for now; kHighest if that is not to be learnt.
rlim_t table_size() noexcept {
  char text[4096];  // the line is one of the first
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t read = file < 0 ? -1 : ::read(file, text, sizeof(text));
  if (file >= 0) {
    ::close(file);
  }
  constexpr std::string_view kName = "\nFDSize:";
  const std::string_view all(text, read < 0 ? 0 : static_cast<std::size_t>(read));
  const std::size_t place = all.find(kName);
  if (place == std::string_view::npos) {
    return kHighest;
  }
  const std::size_t number = all.find_first_not_of(" \t", place + kName.size());
  rlim_t size = 0;
  const auto [end, error] = std::from_chars(all.data() + std::min(number, all.size()), all.data() + all.size(), size);
  return error == std::errc() ? size : kHighest;
}

/// The name as it is where there is no current folder any more: to open it tells why it can't be used.
std::string absolute(const std::string& name) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::absolute(name, error);
  return error ? name : found.string();
}

/// For this process. A lock of the process, not of the open file: children that outlive us do not keep it. False if
/// another process has it.
bool lock(int descriptor) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_SETLK, &lock) == 0 || (errno != EACCES && errno != EAGAIN);
}

/// Whether an opened file may be written from its beginning: nobody's work is lost, and nobody else will do the same.
bool is_free(int descriptor) noexcept {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return false;
  if (status.st_size != 0 || !lock(descriptor)) return false;
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

int lifted(int descriptor) noexcept {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const rlim_t end = std::min({known ? limit.rlim_cur : rlim_t{256}, table_size(), kHighest});
  int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(end > kLowest + kRoom ? end - kRoom : kLowest));
  if (high < 0) {
    high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(kLowest));
  }
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return high;
}

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

std::error_code make_error_code(FileRefusal refusal) noexcept {
  // Never destroyed: messages are written until the very end of the process.
  static Immortal<RefusalCategory> category;
  return {static_cast<int>(refusal), *category};
}

OwnFile::~OwnFile() {
  const int descriptor = descriptor_.load();
  if (!borrowed_ && descriptor >= 0 && is_ours(descriptor)) {
    ::close(descriptor);
  }
}

bool OwnFile::is_ours(int descriptor) const noexcept {
  return FileIdentity::of(descriptor) == file_ && (born_ns_ == 0 || birth_of(descriptor) == born_ns_);
}

bool OwnFile::in_place() const noexcept {
  struct stat status {};
  return ::lstat(name_.c_str(), &status) == 0 && FileIdentity{status.st_dev, status.st_ino} == file_;
}

/// `made`: the file is there since this call alone, and goes if it can't be used.
std::error_code OwnFile::take(int descriptor, const std::string& name, bool made) {
  const int high = lifted(descriptor);
  struct stat status {};
  if (high < 0 || ::fstat(high, &status) != 0) {
    const std::error_code error = system_error(errno);
    if (high >= 0) ::close(high);
    if (made) ::unlink(name.c_str());
    return error;
  }
  file_ = {status.st_dev, status.st_ino};
  born_ns_ = birth_of(high);
  regular_ = S_ISREG(status.st_mode) && !names_descriptor(name);
  made_ = made;
  name_ = name;
  descriptor_.store(high);
  return {};
}

std::error_code OwnFile::make(const std::string& name, mode_t mode) {
  const int made = ::open(name.c_str(), kHow | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (made < 0) return system_error(errno);
  ::fchmod(made, mode);  // not every file system has permissions
  return take(made, name, true);
}

std::error_code OwnFile::make_counted(const FileName& name, mode_t mode) {
  for (unsigned number = 1; number <= FileName::kMostNumbers; ++number) {
    const std::error_code error = make(absolute(name.text(number)), mode);
    if (error != std::errc::file_exists) return error;
  }
  return system_error(EEXIST);
}

/// `name` is absolute.
std::error_code OwnFile::open_or_make(const std::string& name, mode_t mode) {
  if (names_descriptor(name)) {
    const int descriptor = ::open(name.c_str(), kHow);
    return descriptor < 0 ? system_error(errno) : take(descriptor, name, false);
  }
  // Others may make and remove it meanwhile.
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (const std::error_code error = make(name, mode); error != std::errc::file_exists) return error;
    // A FIFO or a device may notice that it is opened: looked at before, and once more what was opened.
    struct stat status {};
    if (::lstat(name.c_str(), &status) != 0) continue;
    if (const std::error_code error = refusal(status, name)) return error;
    const int found = ::open(name.c_str(), kHow | O_NOFOLLOW);
    if (found < 0 && errno == ENOENT) continue;
    if (found < 0) return errno == ELOOP ? std::error_code(FileRefusal::kLink) : system_error(errno);
    std::error_code error = ::fstat(found, &status) != 0 ? system_error(errno) : refusal(status, name);
    if (!error) return take(found, name, false);
    ::close(found);
    return error;
  }
  return system_error(EAGAIN);
}

std::error_code OwnFile::append_to(const std::string& name, mode_t mode) {
  return open_or_make(absolute(name), mode);
}

std::error_code OwnFile::append_to(const FileName& name, mode_t mode) {
  return name.counted() ? make_counted(name, mode) : append_to(name.text(), mode);
}

/// Whoever was first has another file at this name when it gives the lock back.
bool OwnFile::takes_older(const OlderFiles& older) const noexcept {
  struct stat status {};
  return !made_ && ::fstat(descriptor_, &status) == 0 && older.contains(status) && lock(descriptor_) && in_place() &&
         ::fstat(descriptor_, &status) == 0 && older.contains(status);
}

std::error_code OwnFile::create(const FileName& name, mode_t mode, const OlderFiles* older) {
  if (!name.counted()) return create(name.text(), mode, older);
  for (;;) {
    const std::error_code error = make_counted(name, mode);
    // Who names this very file may have found it empty.
    if (error || is_free(descriptor_)) return error;
    ::close(descriptor_.exchange(-1));
  }
}

std::error_code OwnFile::create(const std::string& name, mode_t mode, const OlderFiles* older) {
  const std::string wanted = absolute(name);
  for (int number = 0; number < kMostNames; ++number) {
    const std::string candidate = number == 0 ? wanted : further_name(wanted, number);
    const std::error_code error = open_or_make(candidate, mode);
    if (error == FileRefusal::kForeign || (number != 0 && error.category() == make_error_code({}).category())) {
      continue;
    }
    if (error) return error;
    older_ = number == 0 && regular_ && older != nullptr && takes_older(*older);
    if (!regular_ || older_ || is_free(descriptor_)) {
      ::fcntl(descriptor_, F_SETFL, O_APPEND);  // who reads a pipe that was named is waited for
      return {};
    }
    ::close(descriptor_.exchange(-1));
  }
  return system_error(EEXIST);
}

std::error_code OwnFile::create_beside(const std::string& name, mode_t mode) {
  std::string made = (std::filesystem::path(name).parent_path() / ".refrain.XXXXXX").string();
  const int descriptor = ::mkostemp(made.data(), O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return system_error(errno);
  ::fchmod(descriptor, mode);
  return take(descriptor, made, true);
}

std::error_code OwnFile::rename_to(const std::string& name) {
  if (!in_place()) return system_error(ENOENT);
  if (::rename(name_.c_str(), name.c_str()) != 0) return system_error(errno);
  name_ = name;
  return {};
}

std::error_code OwnFile::replace(const std::string& name, mode_t mode, std::span<const std::byte> content) {
  const std::string wanted = absolute(name);
  std::error_code error = create_beside(wanted, mode);
  if (error) return error;
  lock(descriptor_);
  error = system_error(write(content));
  if (!error) error = rename_to(wanted);
  if (error) remove();
  return error;
}

void OwnFile::remove() noexcept {
  if (made_ && in_place()) ::unlink(name_.c_str());
}

void OwnFile::borrow(int descriptor, FileIdentity file) noexcept {
  file_ = file;
  borrowed_ = true;
  descriptor_.store(descriptor);
}

int OwnFile::checked() noexcept {
  int descriptor = descriptor_.load();
  if (descriptor >= 0 && is_ours(descriptor)) return descriptor;
  if (borrowed_ || !regular_) return -1;
  const int again = ::open(name_.c_str(), kHow | O_NOFOLLOW);
  if (again < 0) return -1;
  if (!is_ours(again)) {
    ::close(again);
    return -1;
  }
  const int high = lifted(again);
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

void OwnFile::cut(std::size_t size, std::size_t behind) noexcept {
  const WithoutSignals guard;
  const int descriptor = regular_ ? checked() : -1;
  // A number of its own: the program might exchange the other one's file between the look and the cut.
  const int own = descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(kLowest));
  if (own < 0) return;
  struct stat status {};
  if (is_ours(own) && ::fstat(own, &status) == 0 && static_cast<std::size_t>(status.st_size) == size + behind) {
    [[maybe_unused]] const int result = ::ftruncate(own, static_cast<off_t>(size));
  }
  ::close(own);
}

std::error_code OwnFile::obstacle(const std::string& name) {
  OwnFile file;
  const std::error_code error = file.open_or_make(absolute(name), S_IRUSR | S_IWUSR);
  file.remove();
  return error;
}

std::error_code OwnFile::obstacle_to_replace(const std::string& name) {
  // One without a name is gone even if a signal ends the process now; not every file system has them.
  const std::string folder = std::filesystem::path(absolute(name)).parent_path().string();
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (nameless >= 0) ::close(nameless);
  if (nameless >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return system_error(nameless >= 0 ? 0 : errno);
  OwnFile file;
  const std::error_code error = file.create_beside(absolute(name), S_IRUSR | S_IWUSR);
  file.remove();
  return error;
}

bool OwnFile::busy(const std::string& name) noexcept {
  const int descriptor = ::open(name.c_str(), kHow | O_NOFOLLOW);
  if (descriptor < 0) return false;
  const bool free = lock(descriptor);
  ::close(descriptor);
  return !free;
}

}  // namespace refrain::env
