// A folder of a test's own.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::test {

/// Empty at first, and gone with all that is in it at the end. Throws std::runtime_error if there can be none.
class ScratchFolder {
 public:
  ScratchFolder() {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("there can be no folder " + path_);
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Whole names of what is in it and ends so, in order.
  [[nodiscard]] std::vector<std::string> files(const std::string& ending = "") const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (std::string name = entry.path(); name.ends_with(ending)) {
        found.push_back(std::move(name));
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "refrain-test-XXXXXX").string();
};

}  // namespace refrain::test
