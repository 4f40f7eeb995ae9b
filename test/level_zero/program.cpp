#include "test/level_zero/program.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace program {

namespace {
std::vector<std::pair<std::string, Function>>& registered() {
  static std::vector<std::pair<std::string, Function>> programs;
  return programs;
}
constexpr std::uint32_t kEvents = 256;
}  // namespace

Registration::Registration(const char* name, Function function) {
  registered().emplace_back(name, function);
}
const std::vector<std::pair<std::string, Function>>& all() {
  return registered();
}

Device::Device() {
  CHECK_ZE(zeInit(ZE_INIT_FLAG_GPU_ONLY));
  std::uint32_t count = 1;
  CHECK_ZE(zeDriverGet(&count, &driver));
  count = 1;
  CHECK_ZE(zeDeviceGet(driver, &count, &device));
  ze_context_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  CHECK_ZE(zeContextCreate(driver, &description, &context));
  module = make_module();
  ze_event_pool_desc_t events_of{};
  events_of.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  events_of.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  events_of.count = kEvents;
  CHECK_ZE(zeEventPoolCreate(context, &events_of, 1, &device, &pool));
}
Device::~Device() {
  CHECK_ZE(zeEventPoolDestroy(pool));
  CHECK_ZE(zeModuleDestroy(module));
  CHECK_ZE(zeContextDestroy(context));
}
ze_module_handle_t Device::make_module(const std::vector<Word>& code, ze_module_format_t format) const {
  ze_module_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  description.format = format;
  description.inputSize = code.size() * sizeof(Word);
  description.pInputModule = reinterpret_cast<const std::uint8_t*>(code.data());
  ze_module_handle_t made = nullptr;
  CHECK_ZE(zeModuleCreate(context, device, &description, &made, nullptr));
  return made;
}
ze_kernel_handle_t Device::kernel(ze_module_handle_t of, const char* name) {
  ze_kernel_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
  description.pKernelName = name;
  ze_kernel_handle_t made = nullptr;
  CHECK_ZE(zeKernelCreate(of, &description, &made));
  CHECK_ZE(zeKernelSetGroupSize(made, 32, 1, 1));
  return made;
}
ze_event_handle_t Device::event() {
  ze_event_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  description.index = events++ % kEvents;
  description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  ze_event_handle_t made = nullptr;
  CHECK_ZE(zeEventCreate(pool, &description, &made));
  return made;
}
ze_command_list_handle_t Device::list(ze_command_queue_flags_t flags, ze_command_queue_mode_t mode) const {
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.flags = flags;
  description.mode = mode;
  ze_command_list_handle_t made = nullptr;
  CHECK_ZE(zeCommandListCreateImmediate(context, device, &description, &made));
  return made;
}
Word* Device::device_memory(std::size_t words) const {
  ze_device_mem_alloc_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  void* memory = nullptr;
  CHECK_ZE(zeMemAllocDevice(context, &description, words * sizeof(Word), 64, device, &memory));
  return static_cast<Word*>(memory);
}
Word* Device::host_memory(std::size_t words) const {
  ze_host_mem_alloc_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  void* memory = nullptr;
  CHECK_ZE(zeMemAllocHost(context, &description, words * sizeof(Word), 64, &memory));
  std::memset(memory, 0, words * sizeof(Word));
  return static_cast<Word*>(memory);
}
Word* Device::filled(std::size_t words, Word seed) const {
  ze_device_mem_alloc_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  ze_host_mem_alloc_desc_t host{};
  host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  void* memory = nullptr;
  CHECK_ZE(zeMemAllocShared(context, &description, &host, words * sizeof(Word), 64, device, &memory));
  auto* values = static_cast<Word*>(memory);
  for (std::size_t i = 0; i < words; ++i) {
    values[i] = seed++;
  }
  return values;
}

void finish(ze_command_list_handle_t list, ze_event_handle_t event) {
  CHECK_ZE(zeCommandListAppendBarrier(list, event, 0, nullptr));
  CHECK_ZE(zeEventHostSynchronize(event, kForEver));
  CHECK_ZE(zeEventHostReset(event));
}

void print(const char* name, const Word* values, std::size_t words) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (std::size_t i = 0; i < words; ++i) {
    hash = (hash ^ values[i]) * 0x100000001B3ULL;
  }
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash));
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pause_briefly() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace program

int main(int argc, char** argv) {
  for (const auto& [name, function] : program::all()) {
    if (argc > 1 && name == argv[1]) {
      const int result = function(argc - 1, argv + 1);
      std::printf("end %d\n", result);
      return result;
    }
  }
  std::fprintf(stderr, "usage: %s PROGRAM [ARGUMENTS]; programs:", argv[0]);
  for (const auto& [name, function] : program::all()) {
    std::fprintf(stderr, " %s", name.c_str());
  }
  std::fprintf(stderr, "\n");
  return 2;
}
