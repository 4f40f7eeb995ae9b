// A file for one test.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace refrain::capture {

class TemporaryFile {
 public:
  TemporaryFile() : name_((std::filesystem::temp_directory_path() / "refrain-test-XXXXXX").string()) {
    const int descriptor = ::mkstemp(name_.data());
    if (descriptor < 0) {
      throw std::runtime_error("no temporary file");
    }
    ::close(descriptor);
  }
  ~TemporaryFile() { std::remove(name_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace refrain::capture
