// Small Level Zero programs for the contract tests, written as any application would be: no Refrain in here.
// Each prints what it computed; the test compares the output of a plain run with that of every mode.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace program {

using Word = std::uint32_t;

/// Ends the program with a message if a call failed.
inline void check(ze_result_t status, const char* what) {
  if (status != ZE_RESULT_SUCCESS) {
    std::printf("error %x from %s\n", static_cast<unsigned>(status), what);
    std::fflush(stdout);
    std::_Exit(3);
  }
}
#define CHECK_ZE(call) ::program::check((call), #call)

/// SPIR-V without any instruction; the simulated device finds its kernels by name.
inline const std::vector<Word> kEmptyModule = {0x07230203, 0x00010000, 0, 1, 0};

inline constexpr std::uint64_t kForEver = ~std::uint64_t{0};
/// ZE_COMMAND_QUEUE_FLAG_IN_ORDER, since 1.6.
inline constexpr ze_command_queue_flags_t kInOrder = 1U << 1U;

/// The first device, a context, a module with the kernels of the simulated device (sim/core/contract_kernels.cpp).
struct Device {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  ze_module_handle_t module = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  std::uint32_t events = 0;

  Device();
  /// Everything else must be gone.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] ze_module_handle_t make_module() const { return make_module(kEmptyModule); }
  [[nodiscard]] ze_module_handle_t make_module(const std::vector<Word>& code,
                                               ze_module_format_t format = ZE_MODULE_FORMAT_IL_SPIRV) const;
  [[nodiscard]] ze_kernel_handle_t kernel(const char* name) const { return kernel(module, name); }
  [[nodiscard]] static ze_kernel_handle_t kernel(ze_module_handle_t of, const char* name);
  [[nodiscard]] ze_event_handle_t event();
  [[nodiscard]] ze_command_list_handle_t list(ze_command_queue_flags_t flags = kInOrder,
                                              ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) const;
  [[nodiscard]] Word* device_memory(std::size_t words) const;
  /// Zeroed.
  [[nodiscard]] Word* host_memory(std::size_t words) const;
  /// seed, seed + 1, …: shared memory, which the program reads itself.
  [[nodiscard]] Word* filled(std::size_t words, Word seed) const;
  void free(const void* memory) const { CHECK_ZE(zeMemFree(context, const_cast<void*>(memory))); }
};

/// A function that the driver has beyond those of the loader.
template <class Function>
Function extension_function(const Device& gpu, const char* name) {
  void* found = nullptr;
  CHECK_ZE(zeDriverGetExtensionFunctionAddress(gpu.driver, name, &found));
  return reinterpret_cast<Function>(found);
}

/// Waits for everything in a list: `event` is signalled, waited for and reset.
void finish(ze_command_list_handle_t list, ze_event_handle_t event);

template <class Value>
void set(ze_kernel_handle_t kernel, std::uint32_t index, const Value& value) {
  CHECK_ZE(zeKernelSetArgumentValue(kernel, index, sizeof(value), &value));
}

inline void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, std::uint32_t groups = 1,
                   ze_event_handle_t signal = nullptr, std::vector<ze_event_handle_t> waits = {}) {
  const ze_group_count_t count = {groups, 1, 1};
  CHECK_ZE(zeCommandListAppendLaunchKernel(list, kernel, &count, signal, static_cast<std::uint32_t>(waits.size()),
                                           waits.data()));
}

/// x[i] = x[i] * 31 + y[i] + a
inline void set_mix(ze_kernel_handle_t kernel, Word* x, const Word* y, Word count, Word a) {
  set(kernel, 0, x);
  set(kernel, 1, y);
  set(kernel, 2, count);
  set(kernel, 3, a);
}

void print(const char* name, const Word* values, std::size_t words);

/// Milliseconds of the steady clock.
double now_ms();
/// Lets other threads work for a while, as a program does that computes something itself.
void pause_briefly();

using Function = int (*)(int argc, char** argv);
struct Registration {
  Registration(const char* name, Function function);
};
const std::vector<std::pair<std::string, Function>>& all();
#define PROGRAM(name)                                                   \
  static int name(int argc, char** argv);                               \
  static const ::program::Registration registered_##name(#name, &name); \
  static int name([[maybe_unused]] int argc, [[maybe_unused]] char** argv)

}  // namespace program
