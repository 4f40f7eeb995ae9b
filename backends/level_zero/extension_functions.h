// Functions of extensions, of which drivers give addresses only.
#pragma once

#include <optional>

#include "backends/level_zero/driver_api.h"

namespace refrain::backends::level_zero {

/// Whether the loader was told to wrap handles (ZE_ENABLE_LOADER_INTERCEPT).
[[nodiscard]] bool loader_wraps_handles() noexcept;

/// The driver whose functions take the handles that the loader gives: null if there are several drivers, as then
/// handles are the loader's, or if it was told to wrap them.
/// `get`: the loader's function; null: nobody knows.
[[nodiscard]] ze_driver_handle_t only_driver(decltype(&::zeDriverGet) get) noexcept;

/// Its address; null: the driver does not offer it, or does not tell.
[[nodiscard]] void* extension_function(const LevelZeroDriver& driver, ze_driver_handle_t of, const char* name) noexcept;

/// zeCommandListImmediateAppendCommandListsExp of only_driver(); null if it is not offered.
[[nodiscard]] ImmediateAppend find_immediate_append(const LevelZeroDriver& driver) noexcept;

/// The functions that change arguments in closed lists of the device; nothing if only_driver() does not offer the
/// extension, or the device cannot. May throw std::bad_alloc.
[[nodiscard]] std::optional<MutableLists> find_mutable_lists(const LevelZeroDriver& driver, ze_device_handle_t device);

}  // namespace refrain::backends::level_zero
