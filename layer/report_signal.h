// The report on SIGUSR1: printed at the next call of the program that waits or asks.
#pragma once

#include "replay/engine.h"

namespace refrain::layer {

/// Only if nobody else wants the signal.
void install_report_handler() noexcept;

/// Prints the report if the signal came since the last time. Cheap if not.
void print_wanted_report(const replay::Engine& running) noexcept;

}  // namespace refrain::layer
