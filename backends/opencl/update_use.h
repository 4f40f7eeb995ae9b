// What is made of cl_khr_command_buffer_mutable_dispatch: which changes of recorded launches a device offers, which of
// them Refrain has a use for, and what the others cost. Without a vendor's header, for `refrain doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace refrain::backends::opencl {

// Fields of a launch, as the extension numbers them.
inline constexpr std::uint64_t kUpdateOffset = 1U << 0U;
inline constexpr std::uint64_t kUpdateGlobalSize = 1U << 1U;
inline constexpr std::uint64_t kUpdateLocalSize = 1U << 2U;
inline constexpr std::uint64_t kUpdateArguments = 1U << 3U;
/// Of execution info: kernels that have some are never held.
inline constexpr std::uint64_t kUpdateExecInfo = 1U << 4U;
inline constexpr std::pair<std::uint64_t, const char*> kUpdateNames[] = {{kUpdateOffset, "global_offset"},
                                                                         {kUpdateGlobalSize, "global_size"},
                                                                         {kUpdateLocalSize, "local_size"},
                                                                         {kUpdateArguments, "arguments"},
                                                                         {kUpdateExecInfo, "exec_info"}};
/// Those that command_buffer_api.h can change.
inline constexpr std::uint64_t kKnownUpdates = kUpdateOffset | kUpdateGlobalSize | kUpdateLocalSize | kUpdateArguments;

/// "arguments, global_size"; "nothing".
[[nodiscard]] inline std::string names_of_updates(std::uint64_t offered) {
  std::string result;
  for (const auto& [field, name] : kUpdateNames) {
    if ((offered & field) != 0) {
      result += (result.empty() ? "" : ", ") + std::string(name);
    }
  }
  return result.empty() ? "nothing" : result;
}

/// For users, of what the device offers. Offset and local size are part of what makes two launches the same one, so
/// that there is nothing to change.
[[nodiscard]] inline std::string use_of_updates(std::uint64_t offered) {
  const bool arguments = (offered & kUpdateArguments) != 0;
  const bool sizes = (offered & kUpdateGlobalSize) != 0;
  const std::string used = arguments && sizes ? "arguments and global_size are"
                           : arguments        ? "arguments are"
                           : sizes            ? "global_size is"
                                              : "nothing is";
  const std::string missing =
      !arguments ? ": a recorded graph keeps its arguments, so that what has new ones each time is not replayed"
      : !sizes   ? ": recorded graphs are given new ones, but each global size needs a graph of its own"
                 : "";
  return used + " used" + missing;
}

}  // namespace refrain::backends::opencl
