// How layers start. Until all of it has succeeded the driver's own functions are what programs call, and what fails
// leaves them there for good: nothing of ours may be reached before the last step, which cannot fail.
#pragma once

#include <exception>

#include "env/keep_errno.h"
#include "env/log.h"
#include "env/settings.h"

namespace refrain::layer {

/// Runs `work`, which may throw, as one step of the start. False, and one line in the log, if it failed. `api`: for
/// people, "CUDA".
template <class Work>
[[nodiscard]] bool start_up(const char* api, Work&& work) noexcept {
  const env::KeepErrno keep;
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    env::log_error({api, ": Refrain could not start (", error.what(), "); everything passes through"});
  } catch (...) {
    env::log_error({api, ": Refrain could not start; everything passes through"});
  }
  return false;
}

/// Reads the settings of this process, and opens the log, which then says what is wrong with them, unless the program
/// is not to know of us (setting `programs`). May throw.
[[nodiscard]] env::Settings read_settings();

/// What the end of the process and forks are to run. Functions must not throw; they do nothing where the start failed
/// after all.
struct ProcessHooks {
  void (*at_exit)() = nullptr;
  void (*in_child)() = nullptr;
  void (*before_end)() = nullptr;  ///< see watch_end()
};
/// Throws std::system_error if one of them cannot be had.
void watch_process(const ProcessHooks& hooks);
/// From now on `before_end` runs where the process ends without exit handlers, if it may have a thread for that.
void watch_end() noexcept;
/// Has `at_exit` run once more, before every handler that was registered since. False if it cannot be had.
[[nodiscard]] bool watch_exit() noexcept;

}  // namespace refrain::layer
