#include "test/cuda/fake_driver/task.h"

#include <cstdlib>
#include <cstring>

#include "test/cuda/fake_driver/memory.h"

namespace fake {
namespace {

std::byte* host(CUdeviceptr address) noexcept {
  return reinterpret_cast<std::byte*>(address);
}

void run_kernel(const Task& task) {
  for (const Parameter& parameter : task.kernel->parameters) {
    if (parameter.address) {
      CUdeviceptr address = 0;
      std::memcpy(&address, task.arguments.data() + parameter.offset, sizeof(address));
      if (!usable(address, 1, task.kernel->name)) {
        return;
      }
    }
  }
  task.kernel->run(task.arguments.data(), task.threads);
}

void run_copy(const Task& task) {
  if ((task.to_pageable || usable(task.to, task.bytes, "a copy")) &&
      (task.staged != nullptr || task.from_pageable || usable(task.from, task.bytes, "a copy"))) {
    std::memmove(host(task.to), task.staged != nullptr ? task.staged->data() : host(task.from), task.bytes);
  }
}

void run_fill(const Task& task) {
  if (!usable(task.to, task.bytes, "a fill")) {
    return;
  }
  for (std::size_t place = 0; place < task.bytes; place += task.element) {
    std::memcpy(host(task.to) + place, &task.value, task.element);
  }
}

}  // namespace

void Task::run() const {
  switch (kind) {
    case Kind::kEmpty: break;
    case Kind::kKernel: run_kernel(*this); break;
    case Kind::kCopy: run_copy(*this); break;
    case Kind::kFill: run_fill(*this); break;
    case Kind::kHost: function(data); break;
    case Kind::kFree: {
      const Lock lock;
      release(to);
      break;
    }
  }
}

}  // namespace fake
