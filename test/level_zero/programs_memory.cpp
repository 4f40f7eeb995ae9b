// Memory that kernels write besides what they are given, and what looks at memory meanwhile.

#include <atomic>
#include <cstring>
#include <thread>

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr int kRounds = 100;

/// SPIR-V as far as it says what is in it, instruction by instruction.
struct Code {
  std::vector<Word> words = {0x07230203, 0x00010000, 0, 100, 0};

  Code& add(Word opcode, std::initializer_list<Word> before, const char* text = "",
            std::initializer_list<Word> after = {}) {
    const std::size_t start = words.size();
    words.push_back(opcode);
    words.insert(words.end(), before);
    if (*text != 0) {
      const std::size_t at = words.size();
      words.resize(at + std::strlen(text) / sizeof(Word) + 1);
      std::memcpy(&words[at], text, std::strlen(text));
    }
    words.insert(words.end(), after);
    words[start] |= static_cast<Word>(words.size() - start) << 16U;
    return *this;
  }
  /// A variable in global memory.
  Code& variable(Word id) { return add(59, {1, id, 5}); }
  Code& exported(Word id, const char* name) { return add(71, {id, 41}, name, {0}); }
  Code& named(Word id, const char* name) { return add(5, {id}, name); }
  Code& prints() { return add(11, {3}, "OpenCL.std").add(12, {1, 20, 3, 184, 21}); }
};

/// Launches that count how often the kernel ran, in a variable of its module.
void run_counted(Device& gpu, ze_module_handle_t module, ze_event_handle_t done) {
  ze_command_list_handle_t list = gpu.list();
  ze_kernel_handle_t counted = Device::kernel(module, "counted");
  Word* x = gpu.filled(kCount, 1);
  set(counted, 0, x);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 8; ++i) {
      launch(list, counted);
    }
    finish(list, done);
    if (round % 20 == 0) {
      pause_briefly();
    }
  }
  print("x", x, kCount);
  CHECK_ZE(zeKernelDestroy(counted));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
}

void run_code(const std::vector<Word>& code, ze_module_format_t format = ZE_MODULE_FORMAT_IL_SPIRV) {
  Device gpu;
  ze_event_handle_t done = gpu.event();
  for (int turn = 0; turn < 2; ++turn) {  // the second one may be where the first one was
    ze_module_handle_t module = gpu.make_module(code, format);
    run_counted(gpu, module, done);
    CHECK_ZE(zeModuleDestroy(module));
  }
  CHECK_ZE(zeEventDestroy(done));
}

/// Rounds of launches on one list.
struct Work {
  ze_command_list_handle_t list;
  ze_event_handle_t done;
  ze_kernel_handle_t scale;

  explicit Work(Device& gpu) : list(gpu.list()), done(gpu.event()), scale(gpu.kernel("scale")) {}
  ~Work() {
    CHECK_ZE(zeKernelDestroy(scale));
    CHECK_ZE(zeEventDestroy(done));
    CHECK_ZE(zeCommandListDestroy(list));
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void launch(Word* x, Word b) const {
    set(scale, 0, x);
    set(scale, 1, kCount);
    set(scale, 2, Word{3});
    set(scale, 3, b);
    program::launch(list, scale);
  }
  void rounds(int count, Word* x) const {
    for (int round = 0; round < count; ++round) {
      for (Word i = 0; i < 8; ++i) {
        launch(x, i);
      }
      finish(list, done);
      if (round % 20 == 0) {
        pause_briefly();
      }
    }
  }
  /// Memory that the host cannot look at.
  void print_device(const Device& gpu, const Word* x) const {
    Word* copy = gpu.host_memory(kCount);
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, copy, x, kCount * sizeof(Word), nullptr, 0, nullptr));
    finish(list, done);
    print("x", copy, kCount);
    gpu.free(copy);
  }
};

}  // namespace

PROGRAM(module_variable) {
  run_code(Code().exported(7, "calls").variable(7).words);
  return 0;
}
/// A variable that the driver tells nobody, one that it does not know by that name, and code that says nothing.
PROGRAM(hidden_variable) {
  run_code(Code().named(7, "calls").variable(7).words);
  return 0;
}
PROGRAM(unknown_variable) {
  run_code(Code().exported(7, "calls").variable(7).exported(8, "others").variable(8).words);
  return 0;
}
PROGRAM(native_code) {
  run_code(Code().exported(7, "calls").variable(7).words, ZE_MODULE_FORMAT_NATIVE);
  return 0;
}
PROGRAM(printing_code) {
  run_code(Code().exported(7, "calls").prints().words);
  return 0;
}
PROGRAM(linked_code) {
  Device gpu;
  ze_event_handle_t done = gpu.event();
  ze_module_handle_t modules[] = {gpu.make_module(), gpu.make_module()};
  CHECK_ZE(zeModuleDynamicLink(2, modules, nullptr));
  run_counted(gpu, modules[0], done);
  for (ze_module_handle_t module : modules) {
    CHECK_ZE(zeModuleDestroy(module));
  }
  CHECK_ZE(zeEventDestroy(done));
  return 0;
}

/// An image that kernels may write.
PROGRAM(written_image) {
  Device gpu;
  const Work work(gpu);
  ze_image_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC;
  description.flags = ZE_IMAGE_FLAG_KERNEL_WRITE;
  description.type = ZE_IMAGE_TYPE_1D;
  description.width = kCount;
  ze_image_handle_t image = nullptr;
  CHECK_ZE(zeImageCreate(gpu.context, gpu.device, &description, &image));
  Word* x = gpu.filled(kCount, 1);
  work.rounds(kRounds, x);
  print("x", x, kCount);
  CHECK_ZE(zeImageDestroy(image));
  gpu.free(x);
  return 0;
}

/// An image that kernels only read.
PROGRAM(read_image) {
  Device gpu;
  const Work work(gpu);
  ze_image_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC;
  description.type = ZE_IMAGE_TYPE_1D;
  description.width = kCount;
  ze_image_handle_t image = nullptr;
  CHECK_ZE(zeImageCreate(gpu.context, gpu.device, &description, &image));
  Word* x = gpu.filled(kCount, 1);
  work.rounds(kRounds, x);
  print("x", x, kCount);
  CHECK_ZE(zeImageDestroy(image));
  gpu.free(x);
  return 0;
}

/// Memory that other APIs may use.
PROGRAM(exported_memory) {
  Device gpu;
  const Work work(gpu);
  ze_external_memory_export_desc_t others{};
  others.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
  others.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
  ze_device_mem_alloc_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  description.pNext = &others;
  void* shared = nullptr;
  CHECK_ZE(zeMemAllocDevice(gpu.context, &description, 4096, 64, gpu.device, &shared));
  Word* x = gpu.filled(kCount, 1);
  work.rounds(kRounds, x);
  print("x", x, kCount);
  gpu.free(shared);
  gpu.free(x);
  return 0;
}

/// Kernels on memory of every kind that calls make, and memory of another context, which they cannot reach.
PROGRAM(memory_kinds) {
  Device gpu;
  const Work work(gpu);
  ze_context_desc_t of_context{};
  of_context.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  ze_context_handle_t other = nullptr;
  CHECK_ZE(zeContextCreate(gpu.driver, &of_context, &other));
  ze_device_mem_alloc_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  void* elsewhere = nullptr;
  CHECK_ZE(zeMemAllocDevice(other, &description, 4096, 64, gpu.device, &elsewhere));
  Word* kinds[] = {gpu.device_memory(kCount), gpu.host_memory(kCount), gpu.filled(kCount, 1)};
  const Word pattern = 5;
  for (Word* kind : kinds) {
    CHECK_ZE(zeCommandListAppendMemoryFill(work.list, kind, &pattern, sizeof(pattern), kCount * sizeof(Word), nullptr,
                                           0, nullptr));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Word* kind : kinds) {
      work.launch(kind, 1);
      work.launch(kind, 2);
    }
    finish(work.list, work.done);
  }
  for (Word* kind : kinds) {
    work.print_device(gpu, kind);
    gpu.free(kind);
  }
  CHECK_ZE(zeMemFree(other, elsewhere));
  CHECK_ZE(zeContextDestroy(other));
  return 0;
}

/// Physical memory that is mapped side by side, one piece of which is exchanged, and one that no kernel may use.
PROGRAM(mapped_memory) {
  Device gpu;
  const Work work(gpu);
  std::size_t page = 0;
  CHECK_ZE(zeVirtualMemQueryPageSize(gpu.context, gpu.device, 1, &page));
  void* reserved = nullptr;
  CHECK_ZE(zeVirtualMemReserve(gpu.context, nullptr, 8 * page, &reserved));
  auto* base = static_cast<std::byte*>(reserved);
  ze_physical_mem_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
  description.size = page;
  ze_physical_mem_handle_t pieces[4] = {};
  for (ze_physical_mem_handle_t& piece : pieces) {
    CHECK_ZE(zePhysicalMemCreate(gpu.context, gpu.device, &description, &piece));
  }
  const auto map = [&](std::size_t at, std::size_t piece, ze_memory_access_attribute_t access) {
    CHECK_ZE(zeVirtualMemMap(gpu.context, base + at * page, page, pieces[piece], 0, access));
  };
  map(1, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
  map(2, 1, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
  map(3, 2, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
  CHECK_ZE(zeVirtualMemSetAccessAttribute(gpu.context, base + 2 * page, page, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  auto* x = reinterpret_cast<Word*>(base + 2 * page - kCount / 2 * sizeof(Word));
  const Word pattern = 5;
  for (std::size_t turn = 0; turn < 2; ++turn) {
    CHECK_ZE(zeCommandListAppendMemoryFill(work.list, base + page, &pattern, sizeof(pattern), 2 * page, nullptr, 0,
                                           nullptr));
    work.rounds(kRounds, x);
    work.print_device(gpu, x);
    CHECK_ZE(zeVirtualMemUnmap(gpu.context, base + 2 * page, page));
    map(2, 3, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
  }
  CHECK_ZE(zeVirtualMemUnmap(gpu.context, base + page, 3 * page));
  CHECK_ZE(zeVirtualMemFree(gpu.context, reserved, 8 * page));
  for (ze_physical_mem_handle_t piece : pieces) {
    CHECK_ZE(zePhysicalMemDestroy(gpu.context, piece));
  }
  return 0;
}

/// A thread counts in memory of the host, without a call, while kernels change other memory. Nobody else may write
/// there.
PROGRAM(host_writer) {
  Device gpu;
  const Work work(gpu);
  Word* x = gpu.filled(kCount, 1);
  Word* memory = gpu.host_memory(kCount);
  std::atomic<bool> stop{false};
  int lost = 0;
  std::thread writer([&] {
    std::atomic_ref<Word> counter(*memory);
    for (Word written = counter.load(); !stop;) {
      lost += counter.load() == written ? 0 : 1;
      counter.store(++written);
    }
  });
  work.rounds(5 * kRounds, x);
  stop = true;
  writer.join();
  std::printf("lost %d\n", lost);
  print("x", x, kCount);
  gpu.free(x);
  gpu.free(memory);
  return 0;
}

/// Another thread waits for an event that the first one's work sets, or asks for it, looks at what was computed, and
/// resets it: work that ran must not run again before its eyes.
PROGRAM(looks_when_told) {
  Device gpu;
  const bool asks = argc > 1;
  const Work work(gpu);
  constexpr Word kFew = 5;                                // all of a round is in one graph
  Word* more = gpu.device_memory(std::size_t{1} << 20U);  // comparing it takes a while
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 1);
  ze_event_handle_t ready = gpu.event();
  ze_event_handle_t seen = gpu.event();
  ze_event_handle_t free = gpu.event();
  int wrong = 0;
  std::thread reader([&] {
    Word expected = 1;
    for (int round = 0; round < kRounds; ++round) {
      if (asks) {
        while (zeEventQueryStatus(ready) == ZE_RESULT_NOT_READY) {
        }
      } else {
        CHECK_ZE(zeEventHostSynchronize(ready, kForEver));
      }
      for (Word i = 0; i < kFew; ++i) {
        expected = expected * 3 + i;
      }
      constexpr double kLooksMs = 5;
      for (const double until = now_ms() + kLooksMs; now_ms() < until;) {
        wrong += std::atomic_ref(*x).load(std::memory_order_relaxed) == expected ? 0 : 1;
      }
      CHECK_ZE(zeEventHostReset(ready));
      CHECK_ZE(zeEventHostSignal(seen));
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < kFew; ++i) {
      work.launch(x, i);
    }
    CHECK_ZE(zeCommandListAppendBarrier(work.list, ready, 0, nullptr));
    work.launch(y, 1);
    CHECK_ZE(zeCommandListAppendBarrier(work.list, free, 0, nullptr));
    CHECK_ZE(zeEventHostSynchronize(free, kForEver));
    CHECK_ZE(zeEventHostReset(free));
    CHECK_ZE(zeEventHostSynchronize(seen, kForEver));
    CHECK_ZE(zeEventHostReset(seen));
  }
  reader.join();
  std::printf("wrong %d\n", wrong);
  print("x", x, kCount);
  print("y", y, kCount);
  for (ze_event_handle_t event : {ready, seen, free}) {
    CHECK_ZE(zeEventDestroy(event));
  }
  gpu.free(x);
  gpu.free(y);
  gpu.free(more);
  return 0;
}

/// Events that only the device sees.
PROGRAM(events_of_device) {
  Device gpu;
  const Work work(gpu);
  ze_event_pool_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  description.count = 1;
  ze_event_pool_handle_t pool = nullptr;
  CHECK_ZE(zeEventPoolCreate(gpu.context, &description, 1, &gpu.device, &pool));
  ze_event_desc_t of_event{};
  of_event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  ze_event_handle_t event = nullptr;
  CHECK_ZE(zeEventCreate(pool, &of_event, &event));
  Word* x = gpu.filled(kCount, 1);
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      work.launch(x, i);
    }
    CHECK_ZE(zeCommandListAppendSignalEvent(work.list, event));
    CHECK_ZE(zeCommandListAppendWaitOnEvents(work.list, 1, &event));
    CHECK_ZE(zeCommandListAppendEventReset(work.list, event));
    for (Word i = 0; i < 4; ++i) {
      work.launch(x, i);
    }
    finish(work.list, work.done);
  }
  print("x", x, kCount);
  CHECK_ZE(zeEventDestroy(event));
  CHECK_ZE(zeEventPoolDestroy(pool));
  gpu.free(x);
  return 0;
}

/// Lists of the program's own write memory between its rounds, on a queue of its own, and nobody waits for them before
/// the next round.
PROGRAM(queue_beside) {
  Device gpu;
  const Work work(gpu);
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_handle_t queue = nullptr;
  CHECK_ZE(zeCommandQueueCreate(gpu.context, gpu.device, &description, &queue));
  ze_command_list_desc_t of_list{};
  of_list.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  ze_command_list_handle_t regular = nullptr;
  CHECK_ZE(zeCommandListCreate(gpu.context, gpu.device, &of_list, &regular));
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 1);
  ze_kernel_handle_t busy = gpu.kernel("busy");
  set(busy, 0, y);
  set(busy, 1, Word{300});
  launch(regular, busy);
  CHECK_ZE(zeCommandListClose(regular));
  for (int round = 0; round < kRounds; ++round) {
    CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &regular, nullptr));
    for (Word i = 0; i < 8; ++i) {
      work.launch(x, i);
    }
    finish(work.list, work.done);
    CHECK_ZE(zeCommandQueueSynchronize(queue, kForEver));
  }
  print("x", x, kCount);
  print("y", y, kCount);
  CHECK_ZE(zeCommandListDestroy(regular));
  CHECK_ZE(zeCommandQueueDestroy(queue));
  CHECK_ZE(zeKernelDestroy(busy));
  gpu.free(x);
  gpu.free(y);
  return 0;
}
