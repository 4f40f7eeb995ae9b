#include "env/program_choice.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace refrain::env {
namespace {

/// Without blanks around them.
std::vector<std::string> patterns(std::string_view list) {
  std::vector<std::string> result;
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    std::string_view pattern = list.substr(0, end);
    while (pattern.starts_with(' ') || pattern.starts_with('\t')) pattern.remove_prefix(1);
    while (pattern.ends_with(' ') || pattern.ends_with('\t')) pattern.remove_suffix(1);
    result.emplace_back(pattern);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return result;
}

}  // namespace

ProgramChoice ProgramChoice::of(const Settings& settings) {
  return {settings.programs, settings.programs.empty() ? std::string() : executable_name()};
}

bool ProgramChoice::chosen() const {
  bool any_wanted = false;
  bool found = false;
  for (const std::string& pattern : patterns(list_)) {
    const bool excludes = pattern.starts_with('!');
    const bool matches = ::fnmatch(pattern.c_str() + (excludes ? 1 : 0), program_.c_str(), 0) == 0;
    if (excludes && matches) return false;
    if (excludes) continue;
    any_wanted = true;
    found = found || matches;
  }
  return found || !any_wanted;
}

std::string ProgramChoice::problem(std::string_view list) {
  for (const std::string& pattern : patterns(list)) {
    if (pattern.empty() || pattern == "!") return "has an empty pattern; patterns stand between commas";
    if (pattern.find('/') != std::string::npos) {
      return "has a pattern with a '/', which no program's name contains; folders are not looked at";
    }
  }
  return {};
}

std::string executable_name() {
  char path[PATH_MAX];
  const int before = errno;
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  errno = before;
  if (length <= 0) return program_invocation_short_name;
  std::string_view name(path, static_cast<std::size_t>(length));
  name.remove_prefix(name.rfind('/') + 1);
  constexpr std::string_view kReplaced = " (deleted)";  // as the kernel has it while an update goes on
  if (name.ends_with(kReplaced)) name.remove_suffix(kReplaced.size());
  return std::string(name);
}

}  // namespace refrain::env
