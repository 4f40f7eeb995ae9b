// The arguments that the kernels in a closed list have, and how they are changed
// (ZE_experimental_mutable_command_list).
//
// Only arguments are: the shape of a launch is part of what tells graphs apart (capture::Token), so that another shape
// is another list; and an event in the place of another is compared by drivers with the one that was there before,
// which the program may have destroyed by then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/level_zero/driver_api.h"
#include "capture/operation.h"

namespace refrain::backends {

/// A record of an operation, with its bytes.
using OwnRecord = std::vector<std::byte>;

/// True if `now` differs from `before` in nothing but arguments of the kernel.
[[nodiscard]] bool only_arguments_differ(const capture::OperationView& before,
                                         const capture::OperationView& now) noexcept;

class ListArguments {
 public:
  /// Before the kernel is appended to the list. May throw std::bad_alloc. A kernel for which the driver has no
  /// identifier keeps its arguments.
  void add(const level_zero::MutableLists& functions, ze_command_list_handle_t list,
           const capture::OperationView& kernel);
  /// Whether the kernel at `place`, in the order of add(), can be changed.
  [[nodiscard]] bool changeable(std::size_t place) const noexcept { return kernels_[place].id != 0; }
  /// Makes all kernels those of `wanted`, in the order of add(). If the driver has to be asked for that, the list is
  /// closed again. The list must not run. After a failure it is of no use any more. May throw std::bad_alloc, and then
  /// nothing has happened.
  ze_result_t change(const LevelZeroDriver& driver, const level_zero::MutableLists& functions,
                     ze_command_list_handle_t list, std::span<const OwnRecord> wanted);

 private:
  struct Kernel {
    std::uint64_t id = 0;
    OwnRecord record;
  };
  std::vector<Kernel> kernels_;
  std::vector<level_zero::MutableArgument> changes_;  ///< keeps its memory
};

}  // namespace refrain::backends
