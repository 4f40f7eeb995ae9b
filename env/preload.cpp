#include "env/preload.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "env/exit_hooks.h"
#include "env/ranges_environment.h"
#include "env/secure_process.h"

#pragma weak refrain_at_end

namespace refrain::env {
namespace {

// LD_PRELOAD's entries may be separated by blanks, too.
const char* separators(const std::string& variable) {
  return variable == "LD_PRELOAD" ? ": " : ":";
}

std::string saved(const std::string& variable) {
  return "REFRAIN_SAVED_" + variable;
}

// Where the entry of `library` is in the list, with its length; npos: nowhere.
std::size_t find_entry(const std::string& list, const std::string& library, const char* between, std::size_t* length) {
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(between, begin), list.size());
    if (end != begin && same_file(list.substr(begin, end - begin), library)) {
      *length = end - begin;
      return begin;
    }
    begin = end + 1;
  }
  return std::string::npos;
}

// The list without what begins at `place` and is `length` long, nor the separator behind it, or, at the end, the one in
// front of it.
std::string without(std::string list, std::size_t place, std::size_t length) {
  if (place + length < list.size()) {
    list.erase(place, length + 1);
  } else {
    list.erase(place == 0 ? 0 : place - 1);
  }
  return list;
}

bool beside(const std::string& file, const std::string& library) {
  return file.substr(0, file.rfind('/') + 1) == library.substr(0, library.rfind('/') + 1);
}

// Of the library that is preloaded into programs of every API; empty if it is not.
std::string exit_hooks_file() {
  Dl_info info{};
  const auto* const hook = reinterpret_cast<const void*>(&refrain_at_end);
  if (hook == nullptr || ::dladdr(hook, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace

std::vector<std::string> list_entries(const char* variable, const std::string& list) {
  std::vector<std::string> entries;
  const char* const between = separators(variable);
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(between, begin), list.size());
    if (end != begin) entries.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return entries;
}

std::vector<Variable> activate_library(const char* variable, const std::string& library, const Lookup& lookup,
                                       const std::vector<std::string>& in_front, Place wanted) {
  if (library.find_first_of(separators(variable)) != std::string::npos) {
    throw std::runtime_error("the path " + library + " contains a character that separates files in " + variable +
                             "; install elsewhere");
  }
  const std::optional<std::string> list = lookup(variable);
  std::string others = list.value_or("");
  std::size_t length = 0;
  const std::size_t place = find_entry(others, library, separators(variable), &length);
  const bool was_in = place != std::string::npos;
  if (was_in) {
    const std::vector<std::string> behind = list_entries(variable, others.substr(place + length));
    const bool last =
        std::all_of(behind.begin(), behind.end(), [&](const std::string& file) { return beside(file, library); });
    if (wanted == Place::kFirst ? place == 0 : last) {
      return {};
    }
    others = without(others, place, length);
  }
  for (const std::string& file : in_front) {
    if (find_entry(others, file, separators(variable), &length) == std::string::npos) {
      others += (others.empty() ? "" : ":") + file;
    }
  }
  const std::string whole = wanted == Place::kFirst ? library + ":" + others : others + ":" + library;
  std::vector<Variable> changes{{variable, others.empty() ? library : whole}};
  // What the first library saved is what was there before all of them.
  if (!was_in && !lookup(saved(variable))) changes.push_back({saved(variable), list});
  return changes;
}

std::vector<Variable> remove_libraries(const char* variable, const std::vector<std::string>& libraries,
                                       const Lookup& lookup) {
  std::vector<Variable> changes;
  const std::optional<std::string> list = lookup(variable);
  const std::optional<std::string> before = lookup(saved(variable));
  std::string rest = list.value_or("");
  bool found = false;
  for (const std::string& library : libraries) {
    std::size_t length = 0;
    const std::size_t place = find_entry(rest, library, separators(variable), &length);
    if (place != std::string::npos) {
      found = true;
      rest = without(std::move(rest), place, length);
    }
  }
  if (found) {
    const bool was_set = !rest.empty() || (before && before->empty());
    changes.push_back({variable, was_set ? std::optional<std::string>(rest) : std::nullopt});
  }
  if (before) changes.push_back({saved(variable), std::nullopt});
  return changes;
}

void restore_preload(const Settings& settings, const std::string& preloaded) noexcept {
  try {
    if (settings.follow_children || in_secure_process()) return;
    apply(remove_libraries("LD_PRELOAD", {preloaded, exit_hooks_file()}, process_variable));
    apply(remove_ranges(process_variable));
    const std::size_t slash = preloaded.rfind('/');
    if (slash != std::string::npos) {
      apply(remove_libraries("LD_AUDIT", {preloaded.substr(0, slash + 1) + kAuditFile}, process_variable));
    }
  } catch (...) {
    // Out of memory: children load the library, and it is off in them.
  }
}

}  // namespace refrain::env
