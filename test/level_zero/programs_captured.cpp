// What `refrain run --capture` is shown of Level Zero: an ordered and an unordered list with an edge between them, code
// in SPIR-V with flags and a constant and code of the device, memory of every kind and at an address that was given
// back, copies, a copied region, a fill and a prefetch, an event that the device resets. Arguments: ITERATIONS
// [unknown]: the constant is one that the code does not have

#include <cstring>

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr std::size_t kWords = 64;
constexpr std::size_t kBytes = kWords * sizeof(Word);
constexpr Word kConstant = 7;

/// SPIR-V with a constant of 32 bits that has this number.
const std::vector<Word> kCode = {0x07230203, 0x00010200,     0, 100, 0, 4U << 16U | 71, 20, 1,
                                 kConstant,  4U << 16U | 21, 2, 32,  0, 4U << 16U | 50, 2,  20,
                                 1};

ze_module_handle_t make_special_module(const Device& gpu, Word number) {
  const Word value = 0x0A0B0C0D;
  const void* const values[] = {&value};
  const ze_module_constants_t constants{1, &number, const_cast<const void**>(values)};
  ze_module_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  description.format = ZE_MODULE_FORMAT_IL_SPIRV;
  description.inputSize = kCode.size() * sizeof(Word);
  description.pInputModule = reinterpret_cast<const std::uint8_t*>(kCode.data());
  description.pBuildFlags = "-ze-opt-level=2";
  description.pConstants = &constants;
  ze_module_handle_t made = nullptr;
  CHECK_ZE(zeModuleCreate(gpu.context, gpu.device, &description, &made, nullptr));
  return made;
}

void set_scale(ze_kernel_handle_t kernel, Word* x, Word a, Word b) {
  set(kernel, 0, x);
  set(kernel, 1, static_cast<Word>(kWords));
  set(kernel, 2, a);
  set(kernel, 3, b);
}

}  // namespace

PROGRAM(captured) {
  const int iterations = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 5;
  const bool unknown = argc > 2 && std::strcmp(argv[2], "unknown") == 0;
  Device gpu;
  ze_module_handle_t special = make_special_module(gpu, unknown ? kConstant + 1 : kConstant);
  ze_module_handle_t native = gpu.make_module({0x4B524157, 1, 2, 3}, ZE_MODULE_FORMAT_NATIVE);
  ze_kernel_handle_t mix = Device::kernel(special, "mix_in");
  ze_kernel_handle_t scale = Device::kernel(native, "scale");
  ze_command_list_handle_t first = gpu.list();
  ze_command_list_handle_t second = gpu.list(0);
  ze_event_handle_t fork = gpu.event(), done = gpu.event();
  Word* unused = gpu.device_memory(kWords);
  set_scale(scale, unused, 1, 0);
  launch(first, scale, 2);
  finish(first, done);
  gpu.free(unused);
  Word* x = gpu.filled(kWords, 1);
  Word* y = gpu.device_memory(kWords);
  Word* pinned = gpu.host_memory(kWords);
  for (std::size_t i = 0; i < kWords; ++i) {
    pinned[i] = static_cast<Word>(1000 + i);
  }
  const Word pattern = 9;
  const ze_copy_region_t rows{0, 0, 0, kBytes / 4, 4, 1};
  for (int i = 0; i < iterations; ++i) {
    CHECK_ZE(zeCommandListAppendMemoryCopy(second, y, pinned, kBytes, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendBarrier(second, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendMemoryFill(second, y, &pattern, sizeof(pattern), kBytes / 2, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendBarrier(second, fork, 0, nullptr));
    set_scale(scale, x, 3, 1);
    launch(first, scale, 2);
    set_mix(mix, x, y, kWords, 5);
    launch(first, mix, 2, nullptr, {fork});
    CHECK_ZE(zeCommandListAppendEventReset(first, fork));
    CHECK_ZE(zeCommandListAppendMemoryPrefetch(first, x, kBytes));
    CHECK_ZE(zeCommandListAppendMemoryCopyRegion(first, pinned, &rows, kBytes / 4, 0, x, &rows, kBytes / 4, 0, nullptr,
                                                 0, nullptr));
    finish(first, done);
  }
  print("x", x, kWords);
  print("pinned", pinned, kWords);
  for (ze_event_handle_t event : {fork, done}) {
    CHECK_ZE(zeEventDestroy(event));
  }
  for (ze_kernel_handle_t kernel : {mix, scale}) {
    CHECK_ZE(zeKernelDestroy(kernel));
  }
  for (ze_command_list_handle_t list : {first, second}) {
    CHECK_ZE(zeCommandListDestroy(list));
  }
  for (ze_module_handle_t module : {special, native}) {
    CHECK_ZE(zeModuleDestroy(module));
  }
  for (Word* memory : {x, y, pinned}) {
    gpu.free(memory);
  }
  return 0;
}
