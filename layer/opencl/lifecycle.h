// When the layer starts and how it ends.
#pragma once

namespace refrain::layer::opencl {

/// Submits what is held, ends the threads, writes the report. Calls pass through from then on.
void shut_down() noexcept;

}  // namespace refrain::layer::opencl
