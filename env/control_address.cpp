#include "env/control_address.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>

namespace refrain::env {
namespace {

constexpr const char* kFolder = "/refrain";

bool is_private(const std::string& folder, uid_t user) noexcept {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == user &&
         (status.st_mode & 0077U) == 0;
}

}  // namespace

std::vector<std::string> control_folders(uid_t user, const std::string& runtime_dir) {
  std::vector<std::string> folders;
  if (runtime_dir.starts_with('/')) folders.push_back(runtime_dir + kFolder);
  const std::string usual = "/run/user/" + std::to_string(user) + kFolder;
  if (folders.empty() || folders.front() != usual) folders.push_back(usual);
  folders.push_back("/tmp/refrain-" + std::to_string(user));
  return folders;
}

std::string own_control_folder() {
  const char* const runtime_dir = std::getenv("XDG_RUNTIME_DIR");
  const uid_t user = ::geteuid();
  for (const std::string& folder : control_folders(user, runtime_dir != nullptr ? runtime_dir : "")) {
    const bool there = ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
    if (there && is_private(folder, user)) return folder;
  }
  return {};
}

std::string control_address(const std::string& folder, pid_t process, const std::string& api) {
  return folder + "/" + std::to_string(process) + "." + api;
}

std::vector<ControlAddress> control_addresses(uid_t user, const std::string& runtime_dir) {
  std::vector<ControlAddress> result;
  for (const std::string& folder : control_folders(user, runtime_dir)) {
    if (!is_private(folder, user)) continue;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      ControlAddress address;
      const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), address.process);
      if (problem != std::errc{} || *end != '.') continue;
      address.api = end + 1;
      address.socket = entry.path().string();
      result.push_back(std::move(address));
    }
  }
  std::sort(result.begin(), result.end(), [](const ControlAddress& a, const ControlAddress& b) {
    return std::tie(a.process, a.api) < std::tie(b.process, b.api);
  });
  return result;
}

}  // namespace refrain::env
