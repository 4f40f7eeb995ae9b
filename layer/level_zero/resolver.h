// Functions that are in no table.
#pragma once

#include "layer/level_zero/level_zero_headers.h"

namespace refrain::layer::level_zero {

/// zeCommandListImmediateAppendCommandListsExp of the driver; null if it is not offered, or takes other handles than
/// those that reach this layer (the loader wraps them where there are several drivers).
[[nodiscard]] backends::level_zero::ImmediateAppend immediate_append() noexcept;

/// The functions that change arguments in closed lists of the device. Null if the driver does not offer the extension,
/// the device cannot, the driver takes other handles, or nothing is to be changed (the setting `updates`). Thread-safe.
[[nodiscard]] const backends::level_zero::MutableLists* mutable_lists(ze_device_handle_t device) noexcept;

/// Which graph of the program's a list is recorded into; null if the driver cannot say, or takes other handles.
[[nodiscard]] backends::level_zero::RecordedInto recording_question() noexcept;

}  // namespace refrain::layer::level_zero
