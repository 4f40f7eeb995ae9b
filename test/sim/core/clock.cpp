#include "test/sim/core/clock.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "test/sim/core/settings.h"

namespace sim {
namespace {

thread_local double now = 0;

/// "2.8us"; negative if it is no time.
double parse_time(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double factor = unit.empty() || unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : -1;
  return end == text.c_str() || !(value >= 0) ? -1 : value * factor;
}

}  // namespace

double Costs::of(const Task& task, bool node_of_graph) const {
  double cost = 0;
  switch (task.kind) {
    case Task::Kind::kKernel: {
      const auto named = kernels.find(task.kernel->name);
      cost = named == kernels.end() ? kernel : named->second;
      break;
    }
    case Task::Kind::kCopy: cost = copy; break;
    case Task::Kind::kFill: cost = fill; break;
    case Task::Kind::kHost: cost = host; break;
    default: return 0;
  }
  return node_of_graph ? std::max(cost, node) : cost;
}

bool parse_costs(const std::string& text, Costs* costs) {
  Costs read;
  const std::map<std::string, double*> names = {
      {"submit", &read.submit}, {"launch", &read.launch}, {"update", &read.update}, {"instantiate", &read.instantiate},
      {"query", &read.query},   {"node", &read.node},     {"kernel", &read.kernel}, {"copy", &read.copy},
      {"fill", &read.fill},     {"host", &read.host}};
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      return false;
    }
    const std::string name = word.substr(0, equals);
    const double time = parse_time(word.substr(equals + 1));
    const auto known = names.find(name);
    const std::string prefix = "kernel:";
    if (time < 0 || (known == names.end() && name.rfind(prefix, 0) != 0)) {
      return false;
    }
    (known != names.end() ? *known->second : read.kernels[name.substr(prefix.size())]) = time;
  }
  *costs = read;
  return true;
}

double host_ns() noexcept {
  if (settings().virtual_time) {
    return now;
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void spend(double nanoseconds) noexcept {
  now += settings().virtual_time ? nanoseconds : 0;
}

void spend_until(double nanoseconds) noexcept {
  now = settings().virtual_time ? std::max(now, nanoseconds) : now;
}

}  // namespace sim
