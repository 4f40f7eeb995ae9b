// Copies between memory by address of a context and the host's: through memory of the host that the driver allocated,
// by a synchronous list of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "backends/level_zero/list.h"

namespace refrain::backends {

/// Not thread-safe. Nobody else uses what is copied. Owns a list and 4 MiB of the host for each context and device that
/// it was used with.
class MemoryCopies {
 public:
  /// `driver` must outlive this.
  explicit MemoryCopies(const LevelZeroDriver& driver) noexcept : driver_(driver) {}

  /// What is copied next is of the context and device of `list`. The driver must have all that can_compare() asks for.
  [[nodiscard]] ze_result_t prepare(const ImmediateList& list) noexcept;
  /// When prepare() succeeded.
  [[nodiscard]] ze_result_t read(std::uint64_t from, std::span<std::byte> into) noexcept;
  [[nodiscard]] ze_result_t write(std::uint64_t to, std::span<const std::byte> from) noexcept;
  /// Gives back what was made in it, before it is destroyed.
  void context_gone(ze_context_handle_t context) noexcept;

 private:
  struct Way {
    ze_command_list_handle_t list = nullptr;
    std::byte* between = nullptr;  ///< kBetween bytes of the host
  };
  static constexpr std::size_t kBetween = std::size_t{4} << 20U;

  void give_back(ze_context_handle_t context, const Way& way) noexcept;

  const LevelZeroDriver& driver_;
  std::map<std::pair<ze_context_handle_t, ze_device_handle_t>, Way> ways_;
  const Way* way_ = nullptr;  ///< that was prepared last
};

}  // namespace refrain::backends
