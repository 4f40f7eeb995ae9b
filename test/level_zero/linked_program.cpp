// A program that says how the loader and the driver look from inside it.

#include <dlfcn.h>
#include <level_zero/ze_api.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

/// The file that `address` lies in.
std::string place_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return address == nullptr ? "null" : "nowhere";
  }
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash == nullptr ? info.dli_fname : slash + 1;
}

using ImmediateAppend = ze_result_t (*)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t*,
                                        ze_event_handle_t, uint32_t, ze_event_handle_t*);

}  // namespace

int main(int argc, char**) {
  const ze_result_t started = zeInit(0);
  std::printf("zeInit %x\n", static_cast<unsigned>(started));
  if (started != ZE_RESULT_SUCCESS) {
    return 1;
  }
  std::uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  ze_command_list_handle_t immediate = nullptr, list = nullptr;
  ze_context_desc_t context_description{};
  context_description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  if (zeDriverGet(&count, &driver) != ZE_RESULT_SUCCESS || zeDeviceGet(driver, &count, &device) != ZE_RESULT_SUCCESS ||
      zeContextCreate(driver, &context_description, &context) != ZE_RESULT_SUCCESS) {
    return 1;
  }
  if (argc > 1) {  // wrong calls, which only the real validation layer minds
    std::uint32_t devices = 0;
    std::printf("null count %x\n", static_cast<unsigned>(zeDeviceGet(driver, nullptr, nullptr)));
    std::printf("null driver %x\n", static_cast<unsigned>(zeDeviceGet(nullptr, &devices, nullptr)));
  }
  ze_command_queue_desc_t queue_description{};
  queue_description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  queue_description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_list_desc_t list_description{};
  list_description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  if (zeCommandListCreateImmediate(context, device, &queue_description, &immediate) != ZE_RESULT_SUCCESS ||
      zeCommandListCreate(context, device, &list_description, &list) != ZE_RESULT_SUCCESS ||
      zeCommandListClose(list) != ZE_RESULT_SUCCESS) {
    return 1;
  }
  void* none = nullptr;
  std::printf("no such function %x\n",
              static_cast<unsigned>(zeDriverGetExtensionFunctionAddress(driver, "zeNo", &none)));
  void* address = nullptr;
  if (zeDriverGetExtensionFunctionAddress(driver, "zeCommandListImmediateAppendCommandListsExp", &address) ==
      ZE_RESULT_SUCCESS) {
    void* again = nullptr;
    zeDriverGetExtensionFunctionAddress(driver, "zeCommandListImmediateAppendCommandListsExp", &again);
    std::fprintf(stderr, "append in %s, %s\n", place_of(address).c_str(), again == address ? "the same" : "another");
    const auto append = reinterpret_cast<ImmediateAppend>(address);
    std::printf("append %x\n", static_cast<unsigned>(append(immediate, 1, &list, nullptr, 0, nullptr)));
  }
  ze_event_pool_desc_t pool_description{};
  pool_description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool_description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool_description.count = 1;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_desc_t event_description{};
  event_description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  ze_event_handle_t event = nullptr;
  if (zeEventPoolCreate(context, &pool_description, 1, &device, &pool) != ZE_RESULT_SUCCESS ||
      zeEventCreate(pool, &event_description, &event) != ZE_RESULT_SUCCESS ||
      zeCommandListAppendBarrier(immediate, event, 0, nullptr) != ZE_RESULT_SUCCESS ||
      zeEventHostSynchronize(event, ~std::uint64_t{0}) != ZE_RESULT_SUCCESS) {
    return 1;
  }
  zeEventDestroy(event);
  zeEventPoolDestroy(pool);
  zeCommandListDestroy(list);
  zeCommandListDestroy(immediate);
  std::printf("end %x\n", static_cast<unsigned>(zeContextDestroy(context)));
  return 0;
}
