#include "env/cli/link_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "env/secure_process.h"

namespace refrain::env {
namespace {

bool has_separator(const std::string& path) {
  return path.find_first_of(" :\t\n") != std::string::npos;
}

std::string from_environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value != '/' ? std::string() : value;
}

/// Ours, and nobody else can put anything in it, or another folder in its place. The path has no links in it.
bool is_own_folder(const std::string& folder) {
  std::filesystem::path path = folder;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return false;
  }
  while (path.has_relative_path()) {
    path = path.parent_path();
    // In folders as /tmp everybody may make files, but none may rename another one's.
    if (::lstat(path.c_str(), &status) != 0 || (status.st_uid != 0 && status.st_uid != ::geteuid()) ||
        ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0)) {
      return false;
    }
  }
  return true;
}

std::string target_of(const std::string& link) {
  std::error_code error;
  return std::filesystem::read_symlink(link, error).string();
}

/// The same for the same folder, so that there are not more links than installations.
std::string name_for(const std::string& folder) {
  constexpr unsigned long kPrime = 0x100000001b3;  // FNV-1a
  unsigned long hash = 0xcbf29ce484222325;
  for (const char c : folder) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string name;
  for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[(hash >> static_cast<unsigned>(shift)) % 16];
  return name;
}

}  // namespace

std::vector<std::string> places_for_links() {
  std::vector<std::string> places;
  if (in_secure_process()) return places;
  // The cache stays when the user logs out, as processes may; /run/user does not.
  const std::string cache = from_environment("XDG_CACHE_HOME");
  const std::string home = from_environment("HOME");
  const std::string run = from_environment("XDG_RUNTIME_DIR");
  if (!cache.empty()) places.push_back(cache + "/refrain");
  if (cache.empty() && !home.empty()) places.push_back(home + "/.cache/refrain");
  if (!run.empty()) places.push_back(run + "/refrain");
  places.push_back("/tmp/refrain-" + std::to_string(::geteuid()));
  return places;
}

std::string folder_without_separators(const std::string& folder, const std::vector<std::string>& places) {
  if (!has_separator(folder)) return folder;
  for (const std::string& place : places) {
    if (has_separator(place)) continue;
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(place).parent_path(), error);
    ::mkdir(place.c_str(), S_IRWXU);
    const std::string real = std::filesystem::canonical(place, error).string();
    if (error || has_separator(real) || !is_own_folder(real)) continue;
    std::string link = real + "/" + name_for(folder);
    if (target_of(link) == folder) return link;
    // Renamed into place: others may be starting a program with it now.
    const std::string made = link + "." + std::to_string(::getpid());
    if (::symlink(folder.c_str(), made.c_str()) == 0 && ::rename(made.c_str(), link.c_str()) != 0) {
      ::unlink(made.c_str());
    }
    if (target_of(link) == folder) return link;
  }
  return {};
}

}  // namespace refrain::env
