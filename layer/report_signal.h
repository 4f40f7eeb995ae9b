// The report on the signal that the setting report_signal names: none unless the user asks for one, because a signal
// that would end the program has to end it. A layer that has a thread of its own for it prints it at once; the others
// at the next call of the program that waits or asks.
#pragma once

#include "env/settings.h"
#include "replay/engine.h"

namespace refrain::layer {

/// If the settings name a signal and want a report anywhere, and nobody but a driver has a handler for it; a driver's
/// for SIGUSR1 is called, too. `wake`: called by the handler, and so must be safe there; null: nobody has to be woken.
void install_report_handler(const env::Settings& settings, void (*wake)() noexcept = nullptr) noexcept;

/// Writes the report, to the log and to the report file, if the signal came since the last time. Cheap if not.
void print_wanted_report(const replay::Engine& running) noexcept;

/// Around driver calls that run a compiler: LLVM puts a handler of its own in the place of the one for the
/// report. Ours comes back and calls LLVM's.
class ReportSignalKeeper {
 public:
  ReportSignalKeeper() noexcept;
  ~ReportSignalKeeper();
  ReportSignalKeeper(const ReportSignalKeeper&) = delete;
  ReportSignalKeeper& operator=(const ReportSignalKeeper&) = delete;

 private:
  bool ours_;
};

}  // namespace refrain::layer
