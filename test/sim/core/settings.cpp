#include "test/sim/core/settings.h"

#include <cstdlib>

namespace sim {
namespace {

const char* text_of(const char* variable) noexcept {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

Settings read() {
  Settings read;
  read.log = text_of("SIM_LOG");
  read.seed = std::strtoull(text_of("SIM_SEED"), nullptr, 10);
  read.fail_at = std::strtoull(text_of("SIM_FAIL_AT"), nullptr, 10);
  read.count = text_of("SIM_COUNT");
  read.kernels = text_of("SIM_KERNELS");
  if (const char* patience = text_of("SIM_PATIENCE"); *patience != '\0') {
    read.patience_s = std::strtod(patience, nullptr);
  }
  return read;
}

/// Never destroyed: work goes on while the program ends.
Settings& current() noexcept {
  static Settings& all = *new Settings(read());
  return all;
}

}  // namespace

const Settings& settings() noexcept {
  return current();
}

void configure(const Settings& changed) {
  current() = changed;
}

}  // namespace sim
