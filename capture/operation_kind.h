// Kinds of operations, and which numbers a record of each kind holds.
//
// The structures in `words` lie in the record as they are: whoever writes one (OperationWriter::words()) and whoever
// reads it (OperationView::as(), find()) name the same fields. Their layout is part of the capture file.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace refrain::capture {

/// Stable numbers: they are written to capture files. Add at the end, never renumber.
enum class OperationKind : std::uint16_t {
  kUnknown = 0,
  kKernel = 1,
  kCopyBuffer = 2,
  kCopyBufferRect = 3,
  kFillBuffer = 4,
  kCopyImage = 5,
  kFillImage = 6,
  kCopyBufferToImage = 7,
  kCopyImageToBuffer = 8,
  kReadBuffer = 9,
  kWriteBuffer = 10,
  kReadBufferRect = 11,
  kWriteBufferRect = 12,
  kReadImage = 13,
  kWriteImage = 14,
  kMap = 15,
  kUnmap = 16,
  kMigrate = 17,
  kPointerCopy = 18,  ///< SVM, USM or device pointers
  kPointerFill = 19,
  kPointerMap = 20,
  kPointerUnmap = 21,
  kPointerFree = 22,
  kPointerMigrate = 23,
  kMarker = 24,
  kBarrier = 25,
  kFlush = 26,  ///< asks the driver to start what was submitted; no work of its own
  kEventRecord = 27,
  kEventWait = 28,
  kHostFunction = 29,   ///< native kernels, host callbacks in stream order
  kCommandBuffer = 30,  ///< a command buffer or graph that the application made itself
  kOther = 31,
  kPointerCopyRect = 32,  ///< rows, and slices of rows
  kPointerFillRect = 33,
};
inline constexpr std::uint16_t kOperationKindCount = 34;

/// Short lower-case name ("kernel", "copy buffer"); "unknown" for a number out of range.
std::string_view name_of(OperationKind kind) noexcept;

/// What to call a submission that is a host call as well, because the program waits for it: "blocking read buffer". Of
/// static lifetime, as host calls' names are.
const char* blocking_name_of(OperationKind kind) noexcept;

namespace words {

using Three = std::array<std::uint64_t, 3>;

/// Launch shape.
struct Kernel {
  static constexpr std::array kKinds{OperationKind::kKernel};
  std::uint64_t dimensions;
  Three offset;
  Three global;
  Three local;  ///< 0 0 0: chosen by the driver
};

/// Arguments: source, destination.
struct CopyBuffer {
  static constexpr std::array kKinds{OperationKind::kCopyBuffer};
  std::uint64_t from_offset;
  std::uint64_t to_offset;
  std::uint64_t bytes;
};

/// Arguments: source, destination.
struct CopyBufferRect {
  static constexpr std::array kKinds{OperationKind::kCopyBufferRect};
  Three from_origin;
  Three to_origin;
  Three region;
  std::uint64_t from_row_pitch;
  std::uint64_t from_slice_pitch;
  std::uint64_t to_row_pitch;
  std::uint64_t to_slice_pitch;
};

/// Arguments: buffer, pattern (value).
struct FillBuffer {
  static constexpr std::array kKinds{OperationKind::kFillBuffer};
  std::uint64_t offset;
  std::uint64_t bytes;
};

/// Arguments: source, destination.
struct CopyImage {
  static constexpr std::array kKinds{OperationKind::kCopyImage};
  Three from_origin;
  Three to_origin;
  Three region;
};

/// Arguments: image, colour (value, 16 bytes).
struct FillImage {
  static constexpr std::array kKinds{OperationKind::kFillImage};
  Three origin;
  Three region;
};

/// Arguments: buffer, image.
struct CopyBufferToImage {
  static constexpr std::array kKinds{OperationKind::kCopyBufferToImage};
  std::uint64_t from_offset;
  Three to_origin;
  Three region;
};

/// Arguments: image, buffer.
struct CopyImageToBuffer {
  static constexpr std::array kKinds{OperationKind::kCopyImageToBuffer};
  Three from_origin;
  Three region;
  std::uint64_t to_offset;
};

/// Between a buffer and the host. Arguments: buffer, host pointer.
struct TransferBuffer {
  static constexpr std::array kKinds{OperationKind::kReadBuffer, OperationKind::kWriteBuffer};
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t blocking;
};

/// Arguments: buffer, host pointer.
struct TransferBufferRect {
  static constexpr std::array kKinds{OperationKind::kReadBufferRect, OperationKind::kWriteBufferRect};
  Three origin;
  Three host_origin;
  Three region;
  std::uint64_t row_pitch;
  std::uint64_t slice_pitch;
  std::uint64_t host_row_pitch;
  std::uint64_t host_slice_pitch;
  std::uint64_t blocking;
};

/// Arguments: image, host pointer.
struct TransferImage {
  static constexpr std::array kKinds{OperationKind::kReadImage, OperationKind::kWriteImage};
  Three origin;
  Three region;
  std::uint64_t host_row_pitch;
  std::uint64_t host_slice_pitch;
  std::uint64_t blocking;
};

/// Arguments: destination, source (pointers).
struct PointerCopy {
  static constexpr std::array kKinds{OperationKind::kPointerCopy};
  std::uint64_t bytes;
  std::uint64_t blocking;
};

/// Arguments: destination (pointer), pattern (value).
struct PointerFill {
  static constexpr std::array kKinds{OperationKind::kPointerFill};
  std::uint64_t bytes;
};

/// Arguments: destination, source (pointers to the first byte).
struct PointerCopyRect {
  static constexpr std::array kKinds{OperationKind::kPointerCopyRect};
  std::uint64_t row_bytes;
  std::uint64_t rows;
  std::uint64_t slices;
  std::uint64_t to_pitch;  ///< from one row to the next
  std::uint64_t to_rows;   ///< from one slice to the next
  std::uint64_t from_pitch;
  std::uint64_t from_rows;
  std::uint64_t blocking;
};

/// Arguments: destination (pointer to the first byte), pattern (value).
struct PointerFillRect {
  static constexpr std::array kKinds{OperationKind::kPointerFillRect};
  std::uint64_t row_bytes;
  std::uint64_t rows;
  std::uint64_t pitch;
};

// Kinds of which a record may hold any number of numbers, or none: OperationView::find().

/// Arguments: buffer.
struct MapBuffer {
  static constexpr std::array kKinds{OperationKind::kMap};
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t flags;
  std::uint64_t blocking;
};

/// Arguments: image.
struct MapImage {
  static constexpr std::array kKinds{OperationKind::kMap};
  Three origin;
  Three region;
  std::uint64_t flags;
  std::uint64_t blocking;
};

/// Arguments: buffers and images.
struct Migrate {
  static constexpr std::array kKinds{OperationKind::kMigrate};
  std::uint64_t flags;
};

/// Arguments: pointer.
struct PointerMap {
  static constexpr std::array kKinds{OperationKind::kPointerMap};
  std::uint64_t bytes;
  std::uint64_t flags;
  std::uint64_t blocking;
};

/// OpenCL's, of several pointers: the bytes at each follow. Arguments: the pointers.
struct PointersMigrate {
  static constexpr std::array kKinds{OperationKind::kPointerMigrate};
  std::uint64_t flags;
};

/// Level Zero's, of one. Arguments: pointer.
struct PointerPrefetch {
  static constexpr std::array kKinds{OperationKind::kPointerMigrate};
  std::uint64_t bytes;
};

/// CUDA's and HIP's, of one, to a place. Arguments: pointer.
struct PointerPrefetchTo {
  static constexpr std::array kKinds{OperationKind::kPointerMigrate};
  static constexpr std::uint64_t kToDevice = 1, kToHost = 2;  ///< any other: as the API numbers it

  std::uint64_t bytes;
  std::uint64_t kind;   ///< of the place
  std::uint64_t place;  ///< its number
  std::uint64_t flags;
};

/// Only in captures of earlier versions.
struct EventRecord {
  static constexpr std::array kKinds{OperationKind::kEventRecord};
  std::uint64_t takes_time;
};

template <class T>
concept Structure = std::is_aggregate_v<T> && std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T> &&
                        alignof(T) == alignof(std::uint64_t) &&
                    sizeof(T) % sizeof(std::uint64_t) == 0 && requires {
  { T::kKinds[0] } -> std::same_as<const OperationKind&>;
};

/// How many numbers it is.
template <Structure T>
inline constexpr std::uint16_t kCount = sizeof(T) / sizeof(std::uint64_t);

template <Structure T>
[[nodiscard]] constexpr bool is_for(OperationKind kind) noexcept {
  for (const OperationKind each : T::kKinds) {
    if (each == kind) {
      return true;
    }
  }
  return false;
}

/// The numbers one after the other.
template <Structure T>
[[nodiscard]] inline std::array<std::uint64_t, kCount<T>> in_order(const T& numbers) noexcept {
  std::array<std::uint64_t, kCount<T>> all;
  std::memcpy(all.data(), &numbers, sizeof(numbers));
  return all;
}

// What is in capture files already.
static_assert(kCount<Kernel> == 10 && offsetof(Kernel, global) == 32 && offsetof(Kernel, local) == 56);
static_assert(kCount<CopyBuffer> == 3 && kCount<FillBuffer> == 2 && kCount<TransferBuffer> == 3);
static_assert(kCount<CopyBufferRect> == 13 && kCount<TransferBufferRect> == 14);
static_assert(kCount<CopyImage> == 9 && kCount<FillImage> == 6 && kCount<TransferImage> == 9);
static_assert(kCount<CopyBufferToImage> == 7 && kCount<CopyImageToBuffer> == 7);
static_assert(kCount<PointerCopy> == 2 && kCount<PointerFill> == 1);
static_assert(kCount<PointerCopyRect> == 8 && kCount<PointerFillRect> == 3);
static_assert(kCount<MapBuffer> == 4 && kCount<MapImage> == 8 && kCount<Migrate> == 1 && kCount<PointerMap> == 3);
static_assert(kCount<PointersMigrate> == 1 && kCount<PointerPrefetch> == 1 && kCount<PointerPrefetchTo> == 4 &&
              kCount<EventRecord> == 1);

}  // namespace words

/// Number of words a record of this kind must have, or -1 if any number will do.
int word_count_of(OperationKind kind) noexcept;

/// The kind under which an operation of this one is recorded whose numbers are not known: kUnknown if records of its
/// kind must have some.
OperationKind without_words(OperationKind kind) noexcept;

}  // namespace refrain::capture
