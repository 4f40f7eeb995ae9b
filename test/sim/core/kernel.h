// Kernels: host functions, looked up by name. The built-in ones (contract_kernels.cpp) are what the contract programs
// launch; a side library brings those of one program: it exports `sim_kernels`, and SIM_KERNELS names it.
//
//   constexpr sim::Parameter parameters[] = {{0, 8, true}, {8, 4}};
//   void run(const std::byte* arguments, const sim::Shape& shape) { … }
//   void accesses(const std::byte* arguments, const sim::Shape& shape, sim::Accesses& all) { all.writes(…); }
//   const sim::Kernel kernels[] = {{"name", parameters, &run, &accesses}};
//   SIM_EXPORT_KERNELS(kernels);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sim {

/// An address, of the device or the host: memory of the device is memory of the process.
using Address = unsigned long long;

inline Address address_of(const void* memory) noexcept {
  return reinterpret_cast<Address>(memory);
}
inline std::byte* host(Address address) noexcept {
  return reinterpret_cast<std::byte*>(address);
}

struct Parameter {
  std::size_t offset = 0, size = 0;  ///< in the block of arguments, bytes
  bool address = false;              ///< of memory; checked to be alive when the kernel runs
};

/// How many blocks (groups) of how many threads (work-items).
struct Shape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::uint64_t set = 0;  ///< what setters had set when it was launched, or made a node
  Address variable = 0;   ///< of the kernel's module; 0: its image has none
  [[nodiscard]] std::size_t threads() const noexcept {
    std::size_t all = 1;
    for (int i = 0; i < 3; ++i) {
      all *= std::size_t{grid[i]} * block[i];
    }
    return all;
  }
};

/// `bytes` of memory that an operation reads or writes.
struct Access {
  Address start = 0;
  std::size_t bytes = 0;
  bool write = false;
};
struct Accesses {
  std::vector<Access> all;
  void reads(Address start, std::size_t bytes) { add({start, bytes, false}); }
  /// Also for what is read and then written.
  void writes(Address start, std::size_t bytes) { add({start, bytes, true}); }
  void add(const Access& access) {
    if (access.bytes != 0) {
      all.push_back(access);
    }
  }
};

struct Kernel {
  const char* name = nullptr;
  std::span<const Parameter> parameters;
  /// Does the whole launch. `arguments`: each at its parameter's offset. Runs on a thread of the device.
  void (*run)(const std::byte* arguments, const Shape& shape) = nullptr;
  /// Everything that `run` may read or write, for bounds and the race detector. Null: only the address parameters
  /// are checked, to be alive.
  void (*accesses)(const std::byte* arguments, const Shape& shape, Accesses& accesses) = nullptr;
  /// The host sees its end without a call (it writes what the host polls): what comes before it has then happened.
  bool observable = false;
  /// Where it may begin before the kernel in front of it has ended, it does not wait for that end.
  bool begins_early = false;
  unsigned threads = kMostThreads;  ///< of a block: its code demands exactly so many, unless kMostThreads
  static constexpr unsigned kMostThreads = 1024;

  [[nodiscard]] bool takes(const Shape& shape) const noexcept {
    const std::size_t block = std::size_t{shape.block[0]} * shape.block[1] * shape.block[2];
    return shape.threads() != 0 && (block == threads || (threads == kMostThreads && block < threads));
  }
  /// Of the block of arguments.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  }
};

/// The value at `offset` of a block of arguments.
template <class T>
T argument(const std::byte* arguments, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, arguments + offset, sizeof(value));
  return value;
}

/// What a side library exports as `sim_kernels`.
struct KernelTable {
  std::size_t kernel_size = sizeof(Kernel);  ///< of the library; must be that of the device
  std::span<const Kernel> kernels;
};
#define SIM_EXPORT_KERNELS(array)                                                         \
  extern "C" __attribute__((visibility("default"))) const ::sim::KernelTable sim_kernels; \
  const ::sim::KernelTable sim_kernels = {sizeof(::sim::Kernel), std::span<const ::sim::Kernel>(array)}

/// Null if there is none of this name; side libraries first. A mangled C++ name stands for the function's own name,
/// without namespaces, parameters and template arguments. Thread-safe; valid for ever.
const Kernel* find_kernel(const char* name) noexcept;

}  // namespace sim
