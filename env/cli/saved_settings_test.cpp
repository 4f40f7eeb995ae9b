#include "env/cli/saved_settings.h"

#include <catch2/catch.hpp>

namespace refrain::env {
namespace {

/// The variable as it is put back; a variable that is removed is "-", one that nobody touches is "?".
std::string restored(const SavedSettings& saved, const std::string& name) {
  for (const Variable& variable : saved.restored()) {
    if (variable.name == name) return variable.value.value_or("-");
  }
  return "?";
}

TEST_CASE("what was there before comes back, whatever it was") {
  SavedSettings saved;
  const std::string odd = "a:b=c%41 'd'\n%p";
  saved.keep("REFRAIN_LOG_FILE", odd);
  saved.keep("REFRAIN_MODE", std::nullopt);
  saved.keep("REFRAIN_CONFIG", "");
  const SavedSettings again(saved.text());
  CHECK(restored(again, "REFRAIN_LOG_FILE") == odd);
  CHECK(restored(again, "REFRAIN_MODE") == "-");
  CHECK(restored(again, "REFRAIN_CONFIG").empty());
  CHECK(restored(again, "REFRAIN_GATE") == "?");
  CHECK(restored(again, SavedSettings::kVariable) == "-");
  CHECK(saved.text().find_first_of(" '\n") == std::string::npos);
}

TEST_CASE("the earliest value counts") {
  SavedSettings first;
  first.keep("REFRAIN_MODE", "observe");
  SavedSettings second(first.text());
  second.keep("REFRAIN_MODE", "capture");
  CHECK(restored(second, "REFRAIN_MODE") == "observe");
}

TEST_CASE("no text changes a variable that is not a setting's") {
  for (const char* text : {"", ":", "PATH=/x", "=", "REFRAIN_;rm=1", "LD_PRELOAD:PATH"}) {
    CHECK(SavedSettings(text).restored().size() == 1);
  }
}

}  // namespace
}  // namespace refrain::env
