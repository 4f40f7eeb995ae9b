#include "test/sim/core/settings.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "test/sim/core/schedule.h"

namespace sim {
namespace {

const char* text_of(const char* variable) noexcept {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

Settings read() {
  Settings read;
  read.log = text_of("SIM_LOG");
  read.wrong = text_of("SIM_WRONG");
  read.seed = std::strtoull(text_of("SIM_SEED"), nullptr, 10);
  read.fail_at = std::strtoull(text_of("SIM_FAIL_AT"), nullptr, 10);
  if (const char* failing = text_of("SIM_FAIL_COUNT"); *failing != '\0') {
    read.fail_count = std::strtoull(failing, nullptr, 10);
  }
  read.fail_call = std::strtoull(text_of("SIM_FAIL_CALL"), nullptr, 10);
  read.end_at = std::strtoull(text_of("SIM_END_AT"), nullptr, 10);
  read.count = text_of("SIM_COUNT");
  read.stuck = text_of("SIM_STUCK");
  read.kernels = text_of("SIM_KERNELS");
  if (const char* entries = text_of("SIM_HISTORY"); *entries != '\0') {
    read.history = std::strtoull(entries, nullptr, 10);
  }
  read.races = std::string_view(text_of("SIM_RACES")) != "0";
  read.unrecorded = std::string_view(text_of("SIM_UNRECORDED")) == "1";
  if (const char* devices = text_of("SIM_DEVICES"); *devices != '\0') {
    read.devices = static_cast<int>(std::strtol(devices, nullptr, 10));
  }
  if (const char* workers = text_of("SIM_WORKERS"); *workers != '\0') {
    read.workers = static_cast<unsigned>(std::strtoul(workers, nullptr, 10));
  }
  read.lazy = std::string_view(text_of("SIM_LAZY")) == "1";
  read.linger = std::string_view(text_of("SIM_LINGER")) == "1";
  if (const char* bytes = text_of("SIM_POOL"); *bytes != '\0') {
    read.pool = std::strtoull(bytes, nullptr, 10);
  }
  read.pool_waits = std::string_view(text_of("SIM_POOL_WAITS")) == "1";
  read.graph_memory = std::string_view(text_of("SIM_GRAPH_MEMORY")) == "1";
  read.crowd = std::string_view(text_of("SIM_CROWD")) == "1";
  read.virtual_time = std::string_view(text_of("SIM_TIME")) == "virtual";
  if (const char* costs = text_of("SIM_COSTS"); !parse_costs(costs, &read.costs)) {
    std::fprintf(stderr, "sim: SIM_COSTS is not understood: %s\n", costs);
  }
  read.call_us = std::strtod(text_of("SIM_CALL_US"), nullptr);
  if (const char* patience = text_of("SIM_PATIENCE"); *patience != '\0') {
    read.patience_s = std::strtod(patience, nullptr);
  }
  for (const char* variable : {"CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL"}) {
    const std::string_view text = text_of(variable);
    read.blocking = read.blocking || (!text.empty() && text != "0");
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
  reseed();
}

}  // namespace sim
