// The device inside a test: queues, memory, and what it complained about.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/sim/core/calls.h"
#include "test/sim/core/contract_kernels.h"
#include "test/sim/core/graph.h"
#include "test/sim/core/memory.h"
#include "test/sim/core/settings.h"

namespace sim {

using Word = std::uint32_t;

/// Settings for one test; afterwards those of before, and no complaints left.
class TestDevice {
 public:
  explicit TestDevice(const Settings& changed = settings()) : before_(settings()) {
    configure(changed);
    take_violations();
  }
  ~TestDevice() {
    Lock lock;
    wait_for_all(lock, open_);
    lock.guard.unlock();
    configure(before_);
    take_violations();
  }
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  [[nodiscard]] const OpenRef& open() const noexcept { return open_; }

  Word* words(std::size_t count, MemoryType type = MemoryType::kDevice) {
    const Lock lock;
    auto* made = reinterpret_cast<Word*>(allocate(this, count * sizeof(Word), type));
    std::fill_n(made, count, 0);
    return made;
  }
  void free(const void* memory) {
    const Lock lock;
    release(address_of(memory));
  }

  OperationRef submit(Task task, const std::vector<OperationRef>& after, Signals signals = {}) {
    const Lock lock;
    return schedule(lock, open_, std::move(task), after, std::move(signals));
  }
  bool wait(const OperationRef& operation) {
    Lock lock;
    return wait_for(lock, operation);
  }
  /// Everything that was submitted.
  void finish() {
    Lock lock;
    wait_for_all(lock, open_);
  }

 private:
  Settings before_;
  OpenRef open_ = std::make_shared<OpenWork>();
};

/// A launch of a kernel of one block with these arguments.
template <class... Values>
Task kernel_task(const char* name, Values... values) {
  Task task;
  task.kind = Task::Kind::kKernel;
  task.kernel = find_kernel(name);
  REQUIRE(task.kernel != nullptr);
  REQUIRE(task.kernel->parameters.size() == sizeof...(values));
  task.arguments.resize(task.kernel->bytes());
  std::size_t index = 0;
  (..., std::memcpy(task.arguments.data() + task.kernel->parameters[index++].offset, &values, sizeof(values)));
  return task;
}
inline Task scale(Word* x, Word count, Word a, Word b) {
  return kernel_task("scale", x, count, a, b);
}
inline Task mix_in(Word* x, const Word* y, Word count, Word a) {
  return kernel_task("mix_in", x, y, count, a);
}

/// How many of the violations since the last call contain `part`; CHECKs that there are no others.
inline std::size_t violations(const std::string& part) {
  std::size_t count = 0;
  for (const std::string& text : take_violations()) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    count += text.find(part) != std::string::npos ? 1 : 0;
  }
  return count;
}
inline void check_no_violations() {
  CHECK(violations("none is expected") == 0);
}

}  // namespace sim
