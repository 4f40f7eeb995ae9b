#include "layer/hip/library_search.h"

#include "layer/hip/library_facts.h"

namespace refrain::layer::hip {
namespace {

int major_in(const std::vector<std::string>& names) {
  for (const int major : kMajors) {
    for (const std::string& name : names) {
      if (name == soname_of(major)) {
        return major;
      }
    }
  }
  return 0;
}

}  // namespace

std::string soname_of(int major) {
  return "libamdhip64.so." + std::to_string(major);
}

std::vector<std::string> find_hip_libraries(const std::string& given, const std::string& soname) {
  return find_libraries({given, soname, kMarker, kFolders});
}

int major_of_library(const std::string& path) {
  return major_in(dynamic_names(path, DynamicName::kSoname));
}

int major_needed_by(const std::string& path) {
  return major_in(dynamic_names(path, DynamicName::kNeeded));
}

FoundLibrary choose_library(const std::string& given, const std::string& program) {
  if (!given.empty()) {
    const std::vector<std::string> found = find_hip_libraries(given, {});
    return found.empty() ? FoundLibrary{} : FoundLibrary{major_of_library(found.front()), found.front()};
  }
  const int needed = program.empty() ? 0 : major_needed_by(program);
  for (const int major : kMajors) {
    if (needed != 0 && major != needed) {
      continue;
    }
    if (const auto found = find_hip_libraries({}, soname_of(major)); !found.empty()) {
      return {major, found.front()};
    }
  }
  return {};
}

}  // namespace refrain::layer::hip
