#include "env/config_files.h"

#include <errno.h>
#include <sys/stat.h>

namespace refrain::env {
namespace {

/// False only where there is certainly nothing: whatever else is wrong is told when it is read.
bool may_be_there(const std::string& file) noexcept {
  struct stat status {};
  const int before = errno;
  const bool there = ::stat(file.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
  errno = before;
  return there;
}

bool is_absolute(std::string_view path) noexcept {
  return path.starts_with('/');
}

}  // namespace

void ConfigPlaces::see(std::string_view name, std::string_view value) noexcept {
  if (name == "REFRAIN_CONFIG") named = value;
  if (name == "HOME") home = value;
  if (name == "XDG_CONFIG_HOME") user_folder = value;
}

std::vector<std::string> config_files(const ConfigPlaces& places) {
  if (places.named) {
    if (places.named->empty() || *places.named == "/dev/null") return {};
    return {std::string(*places.named)};
  }
  std::vector<std::string> files;
  if (!places.system.empty()) files.push_back(places.system);
  // Relative ones would be another file in each folder; the specification has them ignored.
  if (is_absolute(places.user_folder)) {
    files.push_back(std::string(places.user_folder) + "/refrain.conf");
  } else if (is_absolute(places.home)) {
    files.push_back(std::string(places.home) + "/.config/refrain.conf");
  }
  std::erase_if(files, [](const std::string& file) { return !may_be_there(file); });
  return files;
}

}  // namespace refrain::env
