#include "env/cli/version.h"

#include <fmt/core.h>
#include <gnu/libc-version.h>

#include <nlohmann/json.hpp>

#include "env/cli/c_library_version.h"
#include "env/cli/commit.h"
#include "env/cli/features.h"

namespace refrain::env {
namespace {

constexpr const char* kCommit = REFRAIN_COMMIT;

std::string commit() {
  return *kCommit == '\0' ? "commit unknown" : kCommit;
}

std::string needed_c_library() {
  const CLibraryVersion needed = newest_needed_version();
  return fmt::format("{}.{}", needed.major, needed.minor);
}

}  // namespace

std::string version_text() {
  std::string built;
  std::string absent;
  for (const Feature& feature : kFeatures) {
    if (feature.absent == nullptr) {
      built += (built.empty() ? "" : ", ") + std::string(feature.name);
    } else {
      absent += fmt::format("not built  {}: {}\n", feature.name, feature.absent);
    }
  }
  std::string text = fmt::format("refrain {} ({})\n", REFRAIN_VERSION, commit());
  text += fmt::format("built in   {}\n{}", built.empty() ? "nothing" : built, absent);
  text += fmt::format("compiler   {}\n", kCompiler);
  text += fmt::format("glibc      {} or newer; this is {}\n", needed_c_library(), ::gnu_get_libc_version());
  return text;
}

std::string version_json() {
  nlohmann::ordered_json object{{"version", REFRAIN_VERSION},
                                {"commit", kCommit},
                                {"built", nlohmann::json::array()},
                                {"not_built", nlohmann::json::object()},
                                {"compiler", kCompiler},
                                {"glibc", {{"needed", needed_c_library()}, {"here", ::gnu_get_libc_version()}}}};
  for (const Feature& feature : kFeatures) {
    if (feature.absent == nullptr) {
      object["built"].push_back(feature.name);
    } else {
      object["not_built"][feature.name] = feature.absent;
    }
  }
  return object.dump(2, ' ', true) + "\n";
}

}  // namespace refrain::env
