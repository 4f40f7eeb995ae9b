// A program that is its own loader: it asks the driver for its functions, lets the layer change the tables, as loaders
// of any version do, and calls what is in them then. For what Debian's loader has not, or never does.
//
//   DRIVER LAYER CASE   LAYER "-": none
//
//   newer   a loader of a version of the API that the layer does not know
//   later   the same, which comes in the middle of the last round
//   twice   each table is handed out twice
//   late    zeCommandListHostSynchronize, since 1.6, which says that the list is not done yet
//   freed   memory that was the driver's is the program's own then, which a copy reads when it is called, as drivers do
//   beyond  a copy begins in memory of the driver's and goes on behind its end, in the program's own
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace {

using Word = std::uint32_t;
constexpr Word kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr std::uint64_t kForEver = ~std::uint64_t{0};

void check(ze_result_t status, const char* what) {
  if (status != ZE_RESULT_SUCCESS) {
    std::printf("error %x from %s\n", static_cast<unsigned>(status), what);
    std::exit(3);
  }
}
#define CHECK_ZE(call) check((call), #call)

/// What a loader has: longer than what the header knows, as later versions only add to a table's end.
template <class Known>
union Table {
  void* slots[64];
  Known known;
};

struct Tables {
  Table<ze_global_dditable_t> global{};
  Table<ze_driver_dditable_t> driver{};
  Table<ze_device_dditable_t> device{};
  Table<ze_context_dditable_t> context{};
  Table<ze_command_queue_dditable_t> queue{};
  Table<ze_command_list_dditable_t> list{};
  Table<ze_event_pool_dditable_t> pool{};
  Table<ze_event_dditable_t> event{};
  Table<ze_fence_dditable_t> fence{};
  Table<ze_module_dditable_t> module{};
  Table<ze_kernel_dditable_t> kernel{};
  Table<ze_kernel_exp_dditable_t> kernel_exp{};
  Table<ze_mem_dditable_t> memory{};
};
Tables tables;

using Give = ze_result_t(ZE_APICALL*)(ze_api_version_t version, void* table);

void hand_to(void* library, ze_api_version_t version) {
  const std::pair<const char*, void*> all[] = {
      {"zeGetGlobalProcAddrTable", &tables.global},      {"zeGetDriverProcAddrTable", &tables.driver},
      {"zeGetDeviceProcAddrTable", &tables.device},      {"zeGetContextProcAddrTable", &tables.context},
      {"zeGetCommandQueueProcAddrTable", &tables.queue}, {"zeGetCommandListProcAddrTable", &tables.list},
      {"zeGetEventPoolProcAddrTable", &tables.pool},     {"zeGetEventProcAddrTable", &tables.event},
      {"zeGetFenceProcAddrTable", &tables.fence},        {"zeGetModuleProcAddrTable", &tables.module},
      {"zeGetKernelProcAddrTable", &tables.kernel},      {"zeGetKernelExpProcAddrTable", &tables.kernel_exp},
      {"zeGetMemProcAddrTable", &tables.memory},
  };
  for (const auto& [name, table] : all) {
    const auto give = reinterpret_cast<Give>(dlsym(library, name));
    if (give == nullptr) {
      std::printf("there is no %s\n", name);
      std::exit(3);
    }
    CHECK_ZE(give(version, table));
  }
}

void* open(const char* file) {
  void* const opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(3);
  }
  return opened;
}

// Of the driver, changed.

/// Members of the table of command lists that are older than version 1.6: the next one is
/// zeCommandListHostSynchronize.
constexpr std::size_t kHostSynchronize = 28;
ze_result_t ZE_APICALL not_ready(ze_command_list_handle_t, std::uint64_t) {
  return ZE_RESULT_NOT_READY;
}

/// Memory of the driver's first, the program's own later, or as far as the driver did not allocate it.
alignas(4096) Word place[kCount];
bool is_pageable = false;
/// Where the driver keeps what it read when it was called.
Word* staging = nullptr;
std::size_t staged = 0;
constexpr std::size_t kStages = 64;
decltype(&zeCommandListAppendMemoryCopy) drivers_copy = nullptr;
decltype(&zeMemFree) drivers_free = nullptr;

ze_result_t ZE_APICALL allocate_place(ze_context_handle_t, const ze_host_mem_alloc_desc_t*, std::size_t, std::size_t,
                                      void** result) {
  *result = place;
  return ZE_RESULT_SUCCESS;
}
ze_result_t ZE_APICALL free_place(ze_context_handle_t context, void* memory) {
  return memory == place ? ZE_RESULT_SUCCESS : drivers_free(context, memory);
}
ze_result_t ZE_APICALL copy(ze_command_list_handle_t list, void* to, const void* from, std::size_t bytes,
                            ze_event_handle_t signal, std::uint32_t count, ze_event_handle_t* waits) {
  if (from == place && is_pageable) {
    Word* const stage = staging + kCount * (staged++ % kStages);
    std::memcpy(stage, from, bytes);
    from = stage;
  }
  return drivers_copy(list, to, from, bytes, signal, count, waits);
}

struct Work {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  ze_module_handle_t module = nullptr;
  ze_kernel_handle_t mix = nullptr, scale = nullptr;
  ze_command_list_handle_t list = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t done = nullptr;
  Word* x = nullptr;
  Word* y = nullptr;

  Work() {
    CHECK_ZE(tables.global.known.pfnInit(0));
    std::uint32_t count = 1;
    CHECK_ZE(tables.driver.known.pfnGet(&count, &driver));
    CHECK_ZE(tables.device.known.pfnGet(driver, &count, &device));
    ze_context_desc_t of_context{};
    of_context.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    CHECK_ZE(tables.context.known.pfnCreate(driver, &of_context, &context));
    static const char image[] = "kernels";
    ze_module_desc_t of_module{};
    of_module.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    of_module.inputSize = sizeof(image);
    of_module.pInputModule = reinterpret_cast<const std::uint8_t*>(image);
    CHECK_ZE(tables.module.known.pfnCreate(context, device, &of_module, &module, nullptr));
    mix = kernel("mix_in");
    scale = kernel("scale");
    ze_command_queue_desc_t of_list{};
    of_list.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    of_list.flags = 1U << 1U;  // ZE_COMMAND_QUEUE_FLAG_IN_ORDER, since 1.6
    of_list.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    CHECK_ZE(tables.list.known.pfnCreateImmediate(context, device, &of_list, &list));
    ze_event_pool_desc_t of_pool{};
    of_pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    of_pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    of_pool.count = 1;
    CHECK_ZE(tables.pool.known.pfnCreate(context, &of_pool, 1, &device, &pool));
    ze_event_desc_t of_event{};
    of_event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    CHECK_ZE(tables.event.known.pfnCreate(pool, &of_event, &done));
    x = shared(kCount);
    y = shared(kCount);
  }
  ~Work() {
    for (Word* memory : {x, y}) {
      CHECK_ZE(tables.memory.known.pfnFree(context, memory));
    }
    CHECK_ZE(tables.event.known.pfnDestroy(done));
    CHECK_ZE(tables.pool.known.pfnDestroy(pool));
    CHECK_ZE(tables.list.known.pfnDestroy(list));
    CHECK_ZE(tables.kernel.known.pfnDestroy(mix));
    CHECK_ZE(tables.kernel.known.pfnDestroy(scale));
    CHECK_ZE(tables.module.known.pfnDestroy(module));
    CHECK_ZE(tables.context.known.pfnDestroy(context));
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  ze_kernel_handle_t kernel(const char* name) const {
    ze_kernel_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
    description.pKernelName = name;
    ze_kernel_handle_t made = nullptr;
    CHECK_ZE(tables.kernel.known.pfnCreate(module, &description, &made));
    CHECK_ZE(tables.kernel.known.pfnSetGroupSize(made, 32, 1, 1));
    return made;
  }
  /// 1, 2, …
  Word* shared(std::size_t words) const {
    ze_device_mem_alloc_desc_t on_device{};
    ze_host_mem_alloc_desc_t on_host{};
    void* memory = nullptr;
    CHECK_ZE(
        tables.memory.known.pfnAllocShared(context, &on_device, &on_host, words * sizeof(Word), 64, device, &memory));
    for (std::size_t i = 0; i < words; ++i) {
      static_cast<Word*>(memory)[i] = static_cast<Word>(i + 1);
    }
    return static_cast<Word*>(memory);
  }
  template <class Value>
  static void set(ze_kernel_handle_t of, std::uint32_t index, const Value& value) {
    CHECK_ZE(tables.kernel.known.pfnSetArgumentValue(of, index, sizeof(value), &value));
  }
  /// Eight launches, and the end of a round.
  void round(int number, const std::function<void()>& halfway = {}) {
    for (Word i = 0; i < 8; ++i) {
      if (i == 4 && halfway) {
        halfway();
      }
      set(mix, 0, x);
      set(mix, 1, y);
      set(mix, 2, kCount);
      set(mix, 3, i);
      const ze_group_count_t groups = {1, 1, 1};
      CHECK_ZE(tables.list.known.pfnAppendLaunchKernel(list, mix, &groups, nullptr, 0, nullptr));
    }
    CHECK_ZE(tables.list.known.pfnAppendBarrier(list, done, 0, nullptr));
    CHECK_ZE(tables.event.known.pfnHostSynchronize(done, kForEver));
    CHECK_ZE(tables.event.known.pfnHostReset(done));
    if (number % 20 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // graphs are made meanwhile
    }
  }
};

constexpr int kRounds = 200;

/// What is appended before each round is not done when the round begins, which comes behind it all the same.
void late() {
  Work work;
  Word* const shape = work.shared(3);
  shape[1] = shape[2] = 1;
  int not_done = 0;
  for (int number = 0; number < kRounds; ++number) {
    Work::set(work.scale, 0, work.x);
    Work::set(work.scale, 1, kCount);
    Work::set(work.scale, 2, Word{3});
    Work::set(work.scale, 3, static_cast<Word>(number));
    CHECK_ZE(tables.list.known.pfnAppendLaunchKernelIndirect(
        work.list, work.scale, reinterpret_cast<const ze_group_count_t*>(shape), nullptr, 0, nullptr));
    const auto wait = reinterpret_cast<ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, std::uint64_t)>(
        tables.list.slots[kHostSynchronize]);
    not_done += wait(work.list, 0) == ZE_RESULT_NOT_READY ? 1 : 0;
    work.round(number);
  }
  std::printf("not done %d\n", not_done);
  CHECK_ZE(tables.memory.known.pfnFree(work.context, shape));
  std::printf("x %u\n", work.x[7]);
}

/// Of `place`, which is freed at once or stays, the driver allocates so much.
void pageable(std::size_t allocated, bool freed) {
  Work work;
  staging = work.shared(kCount * kStages);
  ze_host_mem_alloc_desc_t description{};
  void* memory = nullptr;
  CHECK_ZE(tables.memory.known.pfnAllocHost(work.context, &description, allocated, 64, &memory));
  if (freed) {
    CHECK_ZE(tables.memory.known.pfnFree(work.context, memory));
  }
  is_pageable = true;
  for (int number = 0; number < kRounds; ++number) {
    for (Word& each : place) {
      each = static_cast<Word>(number);
    }
    CHECK_ZE(tables.list.known.pfnAppendMemoryCopy(work.list, work.y, place, kBytes, nullptr, 0, nullptr));
    for (Word& each : place) {
      each = 0xBAD;
    }
    work.round(number);
  }
  std::printf("x %u\n", work.x[7]);
  if (!freed) {
    CHECK_ZE(tables.memory.known.pfnFree(work.context, memory));
  }
  CHECK_ZE(tables.memory.known.pfnFree(work.context, staging));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  const std::string which = argv[3];
  hand_to(open(argv[1]), ZE_API_VERSION_CURRENT);
  if (which == "late") {
    tables.list.slots[kHostSynchronize] = reinterpret_cast<void*>(&not_ready);
  } else if (which == "freed" || which == "beyond") {
    drivers_copy = std::exchange(tables.list.known.pfnAppendMemoryCopy, &copy);
    tables.memory.known.pfnAllocHost = &allocate_place;
    drivers_free = std::exchange(tables.memory.known.pfnFree, &free_place);
  }
  void* const layer = std::strcmp(argv[2], "-") != 0 ? open(argv[2]) : nullptr;
  constexpr auto kNewer = static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 18));
  if (layer != nullptr) {
    const auto version = which == "newer" ? kNewer
                                          : static_cast<ze_api_version_t>(which == "late" ? ZE_MAKE_VERSION(1, 6)
                                                                                          : ZE_MAKE_VERSION(1, 4));
    for (int time = 0; time < (which == "twice" ? 2 : 1); ++time) {
      hand_to(layer, version);
    }
  }
  if (which == "late") {
    late();
  } else if (which == "freed") {
    pageable(kBytes, true);
  } else if (which == "beyond") {
    pageable(kBytes / 2, false);
  } else {
    Work work;
    const auto newer_comes = [&] {
      if (layer != nullptr) {
        hand_to(layer, kNewer);
      }
    };
    for (int number = 0; number < kRounds; ++number) {
      work.round(number, which == "later" && number + 1 == kRounds ? newer_comes : std::function<void()>());
    }
    std::printf("x %u\n", work.x[7]);
  }
  return 0;
}
