// What setters set, as kernels see it: a number in their shape. A node of a graph has that of the moment when it was
// made or changed, and the attributes that it was given.
#include "test/sim/streams/objects.h"

namespace sim {
namespace {

/// 0 for what is as it always was.
std::uint64_t number_of(std::uint64_t what, std::uint64_t value) noexcept {
  if (value == 0) {
    return 0;
  }
  std::uint64_t mixed = (what + 1) * 0x9E3779B97F4A7C15ULL ^ value * 0xD6E8FEB86659FD93ULL;
  mixed = (mixed ^ (mixed >> 29U)) * 0xBF58476D1CE4E5B9ULL;
  return mixed ^ (mixed >> 32U);
}

constexpr std::uint64_t kOfFunctions = 1ULL << 40U, kOfLaunches = 2ULL << 40U;
constexpr int kMostShared = 8;  // …MAX_DYNAMIC_SHARED_SIZE_BYTES, in both APIs

}  // namespace

Status launched_with(const Function& function, Task* task) {
  const auto most = function.attributes->find(kMostShared);
  const int most_shared = most == function.attributes->end() ? kMostSharedAtFirst : most->second;
  if (task->shape.shared_bytes > static_cast<unsigned>(most_shared)) {
    return Status::kInvalidValue;
  }
  task->shape.variable = function.module->variable;
  task->shape.set = 0;
  for (const auto& [what, value] : state().set) {
    task->shape.set ^= number_of(what, value);
  }
  for (const auto& [what, value] : *function.attributes) {
    task->shape.set ^= number_of(kOfFunctions + static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(value));
  }
  return Status::kOk;
}

void give_attribute(Task* task, int id, std::uint64_t value) {
  std::uint64_t& known = task->attributes[id];
  const std::uint64_t what = kOfLaunches + static_cast<std::uint64_t>(id);
  task->shape.set ^= number_of(what, known) ^ number_of(what, value);
  known = value;
}

}  // namespace sim
