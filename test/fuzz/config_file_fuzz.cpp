// Any bytes as a config file, and as the value of every setting in the environment.
#include <string>
#include <vector>

#include "env/settings.h"
#include "test/fuzz/memory_file.h"

namespace {

using namespace refrain::env;

/// What was read is what a user could have written: it reads back the same.
void check(const Settings& settings) {
  Settings again;
  for (const SettingInfo& info : setting_table()) {
    const std::string value = get(settings, info.name);
    if (set(again, info.name, value, "check") || get(again, info.name) != value) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  file.fill(data, size);
  std::vector<SettingProblem> problems;
  Settings settings;
  load_config_file(settings, file.name(), problems);
  check(settings);
  for (const SettingProblem& problem : problems) {
    if (problem.source.find(file.name()) == std::string::npos || problem.message.empty()) {
      std::abort();  // it must name the file
    }
  }
  // A variable ends at a zero; its name, up to '=', is the input's.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string named = "REFRAIN_" + text.substr(0, text.find('\0'));
  const std::string valued = "REFRAIN_LOG_FILE=" + named;
  const char* const environment[] = {named.c_str(), valued.c_str(), nullptr};
  if (named.rfind("REFRAIN_CONFIG=", 0) != 0) {  // another file
    check(load_settings(environment, problems));
  }
  return 0;
}
