#include "layer/level_zero/resolver.h"

#include <cstdlib>

#include "layer/level_zero/layer.h"
#include "layer/level_zero/runtime.h"
#include "layer/level_zero/tables.h"
#include "layer/level_zero/wrappers.h"

namespace refrain::layer::level_zero {

bool loader_wraps_handles() noexcept {
  const char* text = std::getenv("ZE_ENABLE_LOADER_INTERCEPT");
  return text != nullptr && *text != '\0' && *text != '0';
}

backends::level_zero::ImmediateAppend immediate_append(ze_device_handle_t /*device*/) noexcept {
  const backends::LevelZeroDriver& driver = runtime.driver;
  // With several drivers handles are the loader's, and functions of one driver do not take them.
  std::uint32_t count = 0;
  ze_driver_handle_t only = nullptr;
  if (driver.zeDriverGet(&count, nullptr) != ZE_RESULT_SUCCESS || count != 1 ||
      driver.zeDriverGet(&count, &only) != ZE_RESULT_SUCCESS || loader_wraps_handles()) {
    return nullptr;
  }
  void* function = nullptr;
  if (driver.zeDriverGetExtensionFunctionAddress(only, "zeCommandListImmediateAppendCommandListsExp", &function) !=
      ZE_RESULT_SUCCESS) {
    return nullptr;
  }
  return reinterpret_cast<backends::level_zero::ImmediateAppend>(function);
}

ze_result_t wrap::zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver, const char* name,
                                                      void** function) noexcept {
  const ze_result_t status = next.zeDriverGetExtensionFunctionAddress(driver, name, function);
  if (status != ZE_RESULT_SUCCESS || function == nullptr || *function == nullptr || name == nullptr) {
    return status;
  }
  // A function that nobody classified: what is held is submitted before it runs.
  if (void* stub = stub_for(*function, name); stub != nullptr) {
    *function = stub;
  } else {
    give_up("more functions of extensions than stubs, so that some calls are not seen");
  }
  return status;
}

}  // namespace refrain::layer::level_zero
