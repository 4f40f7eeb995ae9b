// The input of a fuzz target as a file, for what reads files.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace fuzz {

/// A file in memory; `name` leads to it in this process.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("fuzz", MFD_CLOEXEC)), name_("/proc/self/fd/" + std::to_string(file_)) {
    if (file_ < 0 || ::fchmod(file_, S_IRUSR | S_IWUSR) != 0) {  // others' config files are not read
      std::abort();
    }
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void fill(const std::uint8_t* data, std::size_t size) const {
    if (::ftruncate(file_, static_cast<off_t>(size)) != 0 ||
        ::pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) {
      std::abort();
    }
  }

 private:
  int file_;
  std::string name_;
};

}  // namespace fuzz
