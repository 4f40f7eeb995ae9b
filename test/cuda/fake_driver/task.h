// What one operation does when it runs: a value, so that graphs can keep it and launch it again.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "test/cuda/fake_driver/fake_driver.h"

namespace fake {

/// A parameter of a kernel. Those that are addresses are checked when the kernel runs.
struct Parameter {
  std::size_t offset, size;
  bool address = false;
};

struct Kernel {
  const char* name;
  std::vector<Parameter> parameters;
  /// The arguments, each at its parameter's offset.
  void (*run)(const std::byte* arguments, unsigned threads);
  [[nodiscard]] std::size_t bytes() const noexcept {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  }
};
/// Null if there is none of this name.
const Kernel* find_kernel(const char* name) noexcept;

struct Task {
  enum class Kind { kEmpty, kKernel, kCopy, kFill, kHost, kFree };
  Kind kind = Kind::kEmpty;
  // kKernel
  const Kernel* kernel = nullptr;
  std::vector<std::byte> arguments;
  unsigned threads = 1;
  // kCopy, kFill, kFree
  CUdeviceptr to = 0, from = 0;
  std::size_t bytes = 0;
  std::shared_ptr<std::vector<std::byte>> staged;  ///< pageable memory as it was at the call
  bool to_pageable = false, from_pageable = false;
  unsigned value = 0, element = 1;
  // kHost
  CUhostFn function = nullptr;
  void* data = nullptr;

  /// Without the lock.
  void run() const;
};

}  // namespace fake
