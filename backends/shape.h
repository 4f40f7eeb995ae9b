// Does a record have the arguments its kind needs? Capture files come from anywhere, so backends check
// before they believe.
#pragma once

#include <initializer_list>

#include "capture/operation.h"

namespace refrain::backends {

/// True if a well-formed record has the number and kinds of arguments described in capture/operation_kind.h, with
/// handles and pointers of 8 bytes. Kinds without a fixed list of arguments: always true.
[[nodiscard]] inline bool arguments_fit(const capture::OperationView& operation) noexcept {
  using capture::ArgumentKind;
  using capture::OperationKind;
  const auto arguments = operation.arguments();
  for (const auto& argument : arguments) {
    const bool handle = argument.kind != ArgumentKind::kUnset && argument.kind != ArgumentKind::kValue &&
                        argument.kind != ArgumentKind::kLocalMemory;
    if (static_cast<std::uint16_t>(argument.kind) > static_cast<std::uint16_t>(ArgumentKind::kOtherHandle) ||
        (handle && argument.size != sizeof(std::uint64_t))) {
      return false;
    }
  }
  const auto are = [&](std::initializer_list<ArgumentKind> wanted) {
    std::size_t i = 0;
    for (const ArgumentKind kind : wanted) {
      if (i >= arguments.size() || arguments[i].kind != kind) {
        return false;
      }
      ++i;
    }
    return arguments.size() == wanted.size();
  };
  const auto pointer = [&](std::size_t i) {  // copies may have one end in ordinary host memory
    return arguments[i].kind == ArgumentKind::kPointer || arguments[i].kind == ArgumentKind::kHostPointer;
  };
  switch (operation.kind()) {
    case OperationKind::kCopyBuffer:
    case OperationKind::kCopyBufferRect: return are({ArgumentKind::kBuffer, ArgumentKind::kBuffer});
    case OperationKind::kFillBuffer: return are({ArgumentKind::kBuffer, ArgumentKind::kValue});
    case OperationKind::kCopyImage: return are({ArgumentKind::kImage, ArgumentKind::kImage});
    case OperationKind::kFillImage: return are({ArgumentKind::kImage, ArgumentKind::kValue}) && arguments[1].size == 16;
    case OperationKind::kCopyBufferToImage: return are({ArgumentKind::kBuffer, ArgumentKind::kImage});
    case OperationKind::kCopyImageToBuffer: return are({ArgumentKind::kImage, ArgumentKind::kBuffer});
    case OperationKind::kReadBuffer:
    case OperationKind::kWriteBuffer:
    case OperationKind::kReadBufferRect:
    case OperationKind::kWriteBufferRect: return are({ArgumentKind::kBuffer, ArgumentKind::kHostPointer});
    case OperationKind::kReadImage:
    case OperationKind::kWriteImage: return are({ArgumentKind::kImage, ArgumentKind::kHostPointer});
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerCopyRect: return arguments.size() == 2 && pointer(0) && pointer(1);
    case OperationKind::kPointerFill:
    case OperationKind::kPointerFillRect:
      return arguments.size() == 2 && pointer(0) && arguments[1].kind == ArgumentKind::kValue;
    default: return true;
  }
}

}  // namespace refrain::backends
