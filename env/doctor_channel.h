// How a layer tells `refrain doctor` that it is in.
#pragma once

#include <string>

namespace refrain::env {

/// Writes `line`, which ends in a newline, to the descriptor that REFRAIN_DOCTOR_FD names; nothing if it is not
/// set, or if that number is another file in this process. "refrain layer active 0.1.0 …", or "refrain layer off 0.1.0
/// …" if settings switch the layer off.
void tell_doctor(const std::string& line) noexcept;

}  // namespace refrain::env
