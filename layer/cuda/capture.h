// Capture mode only: tells the recorder of devices and of the memory that recorded operations name.
#pragma once

#include "layer/cuda/objects.h"
#include "replay/lane/lane.h"

namespace refrain::layer::cuda {

/// Before the operation reaches the driver, so that contents are those of before its first use. Never throws.
void notify_recorder(const StreamState& stream, const replay::EntryPoint& entry_point,
                     const capture::OperationView& operation) noexcept;

/// The number that the device of a context has in the capture; told on first sight.
[[nodiscard]] ObjectId record_device(CUcontext context);

}  // namespace refrain::layer::cuda
