#include "capture/operation_kind.h"

#include <array>
#include <string_view>

namespace refrain::capture {

namespace {

constexpr std::string_view kBlockingPrefix = "blocking ";
/// Each behind kBlockingPrefix. Literals: they are told when there is no memory, and when statics are gone already.
constexpr std::array<const char*, kOperationKindCount> kBlockingNames = {
    "blocking unknown",
    "blocking kernel",
    "blocking copy buffer",
    "blocking copy buffer rect",
    "blocking fill buffer",
    "blocking copy image",
    "blocking fill image",
    "blocking copy buffer to image",
    "blocking copy image to buffer",
    "blocking read buffer",
    "blocking write buffer",
    "blocking read buffer rect",
    "blocking write buffer rect",
    "blocking read image",
    "blocking write image",
    "blocking map",
    "blocking unmap",
    "blocking migrate",
    "blocking pointer copy",
    "blocking pointer fill",
    "blocking pointer map",
    "blocking pointer unmap",
    "blocking pointer free",
    "blocking pointer migrate",
    "blocking marker",
    "blocking barrier",
    "blocking flush",
    "blocking event record",
    "blocking event wait",
    "blocking host function",
    "blocking command buffer",
    "blocking other",
    "blocking pointer copy rect",
    "blocking pointer fill rect",
};
static_assert(kBlockingNames.back() != nullptr, "each kind has a name");

}  // namespace

std::string_view name_of(OperationKind kind) noexcept {
  return std::string_view(blocking_name_of(kind)).substr(kBlockingPrefix.size());
}

const char* blocking_name_of(OperationKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return kBlockingNames[index < kBlockingNames.size() ? index : 0];
}

int word_count_of(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kKernel: return words::kCount<words::Kernel>;
    case OperationKind::kCopyBuffer: return words::kCount<words::CopyBuffer>;
    case OperationKind::kCopyBufferRect: return words::kCount<words::CopyBufferRect>;
    case OperationKind::kFillBuffer: return words::kCount<words::FillBuffer>;
    case OperationKind::kCopyImage: return words::kCount<words::CopyImage>;
    case OperationKind::kFillImage: return words::kCount<words::FillImage>;
    case OperationKind::kCopyBufferToImage: return words::kCount<words::CopyBufferToImage>;
    case OperationKind::kCopyImageToBuffer: return words::kCount<words::CopyImageToBuffer>;
    case OperationKind::kReadBuffer:
    case OperationKind::kWriteBuffer: return words::kCount<words::TransferBuffer>;
    case OperationKind::kReadBufferRect:
    case OperationKind::kWriteBufferRect: return words::kCount<words::TransferBufferRect>;
    case OperationKind::kReadImage:
    case OperationKind::kWriteImage: return words::kCount<words::TransferImage>;
    case OperationKind::kPointerCopy: return words::kCount<words::PointerCopy>;
    case OperationKind::kPointerFill: return words::kCount<words::PointerFill>;
    case OperationKind::kPointerCopyRect: return words::kCount<words::PointerCopyRect>;
    case OperationKind::kPointerFillRect: return words::kCount<words::PointerFillRect>;
    default: return -1;
  }
}

OperationKind without_words(OperationKind kind) noexcept {
  return word_count_of(kind) > 0 ? OperationKind::kUnknown : kind;
}

}  // namespace refrain::capture
