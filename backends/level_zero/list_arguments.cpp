#include "backends/level_zero/list_arguments.h"

#include <algorithm>

#include "backends/level_zero/kernel_call.h"

namespace refrain::backends {

using capture::ArgumentDescriptor;
using capture::OperationKind;
using capture::OperationView;

namespace {

/// The kernel's own, in front of its settings and events.
std::size_t argument_count(const OperationView& kernel) noexcept {
  return static_cast<std::size_t>(std::max(arguments_before_events(kernel), 1)) - 1;
}

/// Calls `visit(index, descriptor, value)` for each argument.
template <class Visit>
void for_each_argument(const OperationView& operation, Visit&& visit) {
  const std::byte* value = operation.values().data();
  for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
    visit(i, operation.arguments()[i], value);
    value += operation.arguments()[i].stored_bytes();
  }
}

/// Memory that came back at the same address is another argument: the driver may have its own record of the old one.
bool same(const ArgumentDescriptor& a, const std::byte* value, const ArgumentDescriptor& b,
          const std::byte* other) noexcept {
  return a.object == b.object && std::equal(value, value + a.stored_bytes(), other);
}

}  // namespace

bool only_arguments_differ(const OperationView& before, const OperationView& now) noexcept {
  const auto layout = [](const ArgumentDescriptor& a, const ArgumentDescriptor& b) {
    return a.kind == b.kind && a.size == b.size;
  };
  if (before.kind() != OperationKind::kKernel || now.kind() != OperationKind::kKernel ||
      before.header().function != now.header().function || !std::ranges::equal(before.words(), now.words()) ||
      !std::ranges::equal(before.arguments(), now.arguments(), layout)) {
    return false;
  }
  const std::size_t own = argument_count(now);
  bool rest = true;
  const std::byte* other = before.values().data();
  for_each_argument(now, [&](std::size_t index, const ArgumentDescriptor& argument, const std::byte* value) {
    rest = rest && (index < own || same(argument, value, before.arguments()[index], other));
    other += argument.stored_bytes();
  });
  return rest;
}

void ListArguments::add(const level_zero::MutableLists& functions, ze_command_list_handle_t list,
                        const OperationView& kernel) {
  Kernel& added = kernels_.emplace_back();
  added.record.assign(kernel.bytes().begin(), kernel.bytes().end());
  level_zero::MutableCommandId what;
  what.flags = level_zero::kMutatesArguments;
  if (functions.next_command(list, &what, &added.id) != ZE_RESULT_SUCCESS) {
    added.id = 0;
  }
}

ze_result_t ListArguments::change(const LevelZeroDriver& driver, const level_zero::MutableLists& functions,
                                  ze_command_list_handle_t list, std::span<const OwnRecord> wanted) {
  changes_.clear();
  for (std::size_t place = 0; place < kernels_.size(); ++place) {
    const OperationView before(kernels_[place].record.data());
    const OperationView now(wanted[place].data());
    if (std::ranges::equal(before.comparable(), now.comparable())) {
      continue;
    }
    const std::size_t own = argument_count(now);
    const std::byte* other = before.values().data();
    for_each_argument(now, [&](std::size_t index, const ArgumentDescriptor& argument, const std::byte* value) {
      if (index < own && !same(argument, value, before.arguments()[index], other)) {
        level_zero::MutableArgument& change = changes_.emplace_back();
        change.commandId = kernels_[place].id;
        change.argIndex = static_cast<std::uint32_t>(index);
        change.argSize = argument.size;
        change.pArgValue = value;
      }
      other += argument.stored_bytes();
    });
  }
  if (changes_.empty()) {
    return ZE_RESULT_SUCCESS;
  }
  for (std::size_t i = 1; i < changes_.size(); ++i) {
    changes_[i - 1].pNext = &changes_[i];
  }
  level_zero::MutableCommands all;
  all.pNext = changes_.data();
  ze_result_t status = functions.update(list, &all);
  if (status == ZE_RESULT_SUCCESS) {
    status = driver.zeCommandListClose(list);
  }
  if (status == ZE_RESULT_SUCCESS) {
    for (std::size_t place = 0; place < kernels_.size(); ++place) {
      // As long as before: only_arguments_differ().
      std::ranges::copy(wanted[place], kernels_[place].record.begin());
    }
  }
  return status;
}

}  // namespace refrain::backends
