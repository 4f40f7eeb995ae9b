#include "env/child_environment.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>

#include "env/secure_process.h"

namespace refrain::env {
namespace {

constexpr const char* kLayers = "OPENCL_LAYERS";
constexpr const char* kWholeList = "REFRAIN_OPENCL_LAYERS";
constexpr const char* kBefore = "REFRAIN_SAVED_OPENCL_LAYERS";

// The list without `layer`; nothing if the layer is not in it.
std::optional<std::string> without(const std::string& list, const std::string& layer) {
  std::string kept;
  bool found = false;
  bool first = true;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    const std::string entry = list.substr(begin, end - begin);
    if (same_file(entry, layer)) {
      found = true;
    } else {
      kept += (first ? "" : ":") + entry;
      first = false;
    }
    begin = end + 1;
  }
  if (!found) return std::nullopt;
  return kept;
}

// Whether `list` is what the loader leaves of `whole`.
bool is_cut(const std::string& list, const std::string& whole) {
  return list.size() < whole.size() && list == whole.substr(0, whole.find(':'));
}

Variable set_or_remove(const char* name, const std::string& value) {
  return value.empty() ? Variable{name, std::nullopt} : Variable{name, value};
}

// The file this code was loaded from: the layer, when it is the layer that calls.
std::string own_file() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace

bool same_file(const std::string& left, const std::string& right) {
  if (left == right) return true;
  struct stat a {};
  struct stat b {};
  return ::stat(left.c_str(), &a) == 0 && ::stat(right.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

std::optional<std::string> process_variable(const std::string& name) {
  const char* const value = in_secure_process() ? nullptr : std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::vector<Variable> activate_opencl(const std::string& layer, const Lookup& lookup) {
  std::optional<std::string> layers = lookup(kLayers);
  const std::optional<std::string> whole = lookup(kWholeList);
  if (layers && whole && is_cut(*layers, *whole)) layers = whole;

  if (!layers || layers->empty()) {
    return {{kLayers, layer}, {kWholeList, layer}, {kBefore, layers}};
  }
  if (const std::optional<std::string> others = without(*layers, layer)) {
    // A `refrain run` inside another one: what was there before the first one is restored.
    return {{kLayers, layers},
            {kWholeList, layers},
            whole ? Variable{kBefore, lookup(kBefore)} : set_or_remove(kBefore, *others)};
  }
  const std::string list = *layers + ":" + layer;
  return {{kLayers, list}, {kWholeList, list}, {kBefore, layers}};
}

std::vector<Variable> repair_opencl(const std::string& layer, bool follow, const Lookup& lookup) {
  const std::optional<std::string> layers = lookup(kLayers);
  const std::optional<std::string> whole = lookup(kWholeList);
  const bool untouched = layers && whole && (*layers == *whole || is_cut(*layers, *whole));
  if (follow) {
    if (untouched && *layers != *whole) return {{kLayers, whole}};
    return {};
  }
  std::vector<Variable> changes;
  if (untouched) {
    changes.push_back({kLayers, lookup(kBefore)});
  } else if (layers) {
    if (const std::optional<std::string> others = without(*layers, layer)) {
      changes.push_back(set_or_remove(kLayers, *others));
    }
  }
  if (whole) changes.push_back({kWholeList, std::nullopt});
  if (lookup(kBefore)) changes.push_back({kBefore, std::nullopt});
  return changes;
}

void apply(const std::vector<Variable>& changes) {
  for (const Variable& change : changes) {
    if (change.value) {
      ::setenv(change.name.c_str(), change.value->c_str(), 1);
    } else {
      ::unsetenv(change.name.c_str());
    }
  }
}

void restore_environment(const Settings& settings) noexcept {
  try {
    // A set-user-id program ignores the environment, and passes it on as it is.
    if (in_secure_process()) return;
    apply(repair_opencl(own_file(), settings.follow_children, process_variable));
  } catch (...) {
    // Out of memory: children see the list as the loader left it.
  }
}

void restore_environment() noexcept {
  try {
    std::vector<SettingProblem> problems;
    restore_environment(load_settings(problems));
  } catch (...) {
    // As above.
  }
}

}  // namespace refrain::env
