// The Level Zero loader of this machine, for programs that are no layer.
#pragma once

#include <string>

#include "backends/level_zero/driver_api.h"

namespace refrain::backends::level_zero {

struct SystemLoader {
  LevelZeroDriver driver;
  // What a program calls that has objects of its own.
  decltype(&::zeInit) zeInit = nullptr;
  decltype(&::zeContextCreate) zeContextCreate = nullptr;
  decltype(&::zeContextDestroy) zeContextDestroy = nullptr;
  decltype(&::zeDeviceGetCommandQueueGroupProperties) zeDeviceGetCommandQueueGroupProperties = nullptr;
  decltype(&::zeMemAllocDevice) zeMemAllocDevice = nullptr;
  decltype(&::zeMemAllocShared) zeMemAllocShared = nullptr;
  decltype(&::zeModuleCreate) zeModuleCreate = nullptr;
  decltype(&::zeModuleDestroy) zeModuleDestroy = nullptr;
  decltype(&::zeModuleBuildLogGetString) zeModuleBuildLogGetString = nullptr;
  decltype(&::zeModuleBuildLogDestroy) zeModuleBuildLogDestroy = nullptr;
};

/// Opens the loader and starts it. Null, and `why` (a sentence), if there is none, it finds no driver, or functions are
/// missing. Static lifetime. For one thread.
[[nodiscard]] const SystemLoader* system_loader(std::string* why);

}  // namespace refrain::backends::level_zero
