#include "test/sim/core/checks.h"

#include "test/sim/core/history.h"

namespace sim {

bool must_be_idle(const Lock& /*lock*/, const OpenRef& open, const char* call) {
  if (open->numbers.empty()) {
    return true;
  }
  const std::uint64_t first = *open->numbers.begin();
  violation_of({first}, "%s while %zu operations of it are in flight, the first of them %llu", call,
               open->numbers.size(), static_cast<unsigned long long>(first));
  return false;
}

bool must_be_idle(const Lock& lock, const Exec& exec, const char* call) {
  return must_be_idle(lock, exec.open, call);
}

bool must_be_unused(const Lock& /*lock*/, const Signal& signal, const char* call) {
  if (signal.users == 0) {
    return true;
  }
  violation_of({}, "%s while %u operations in flight wait for it, set it or reset it", call, signal.users);
  return false;
}

}  // namespace sim
