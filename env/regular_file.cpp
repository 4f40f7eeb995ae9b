#include "env/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace refrain::env {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const char* path) noexcept
      : number_(::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

bool fail(std::string* why, const std::string& reason) {
  *why = reason;
  return false;
}

bool fail_with(std::string* why, int error) {
  return fail(why, std::system_category().message(error));
}

bool read(const std::string& path, std::size_t most, std::string* content, std::string* why, Writers writers) {
  const Descriptor file(path.c_str());
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return fail_with(why, errno);
  if (!S_ISREG(status.st_mode)) return fail(why, "it is not a regular file");
  if (writers == Writers::kTrusted) {
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) return fail(why, "it belongs to another user");
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return fail(why, "others may write to it (chmod go-w ends that)");
  }
  // It may grow or shrink meanwhile: what is read counts.
  for (;;) {
    constexpr std::size_t kLeast = 4096;
    const std::size_t done = content->size();
    if (done > most) return fail(why, "it has more than " + std::to_string(most) + " bytes");
    const auto expected = static_cast<std::uint64_t>(status.st_size);
    const std::uint64_t left = expected > done ? expected - done + 1 : kLeast;
    content->resize(done + std::min<std::uint64_t>(left, most - done + 1));
    const ssize_t got = ::read(file.number(), content->data() + done, content->size() - done);
    content->resize(done + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return fail_with(why, errno);
  }
}

}  // namespace

bool read_regular_file(const std::string& path, std::size_t most, std::string* content, std::string* why,
                       Writers writers) {
  content->clear();
  const bool whole = read(path, most, content, why, writers);
  if (!whole) content->clear();
  return whole;
}

}  // namespace refrain::env
