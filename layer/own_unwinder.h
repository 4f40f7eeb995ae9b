// Which code unwinds the stack for us (own_unwinder.cpp).
#pragma once

namespace refrain::layer {

/// Whether it is the process's, libgcc_s.so.1; otherwise the copy of it that we bring.
bool has_shared_unwinder() noexcept;

}  // namespace refrain::layer
