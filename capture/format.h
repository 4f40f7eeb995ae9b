// The capture file's contract: framing and numbers that never change; the records' are in capture/definitions.h, limits
// in capture/limits.h. Payloads are FlatBuffers (capture/format.fbs). docs/capture-format.md explains it with an
// example.
//
//   FileHeader
//   RecordHeader payload        payload: `stored_size` bytes, zstd if stored_size != raw_size
//   RecordHeader payload
//   …
//
// Append-only. Record n is valid if its `number` is n and its checksum fits; the first record that is not
// ends the file. Everything is little endian. Payloads are not aligned in the file.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "capture/limits.h"

namespace refrain::capture::format {

static_assert(std::endian::native == std::endian::little, "capture files are little endian");

inline constexpr std::uint64_t kMagic = 0x0A0D'4E46'5246'4552ULL;  // "REFRFN\r\n"
/// Readers refuse other versions. New record types and new FlatBuffers fields do not change it.
inline constexpr std::uint32_t kVersion = 1;

struct FileHeader {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t header_size = sizeof(FileHeader);
  std::uint64_t start_realtime_ns = 0;  ///< since 1970
  std::uint64_t start_steady_ns = 0;    ///< the same moment on the clock of all other times in the file
  std::uint64_t process = 0;
  std::uint64_t checksum = 0;  ///< XXH3 of the bytes before
};
static_assert(sizeof(FileHeader) == 48);

struct RecordHeader {
  std::uint32_t type = 0;         ///< RecordType (capture/definitions.h)
  std::uint32_t number = 0;       ///< of this record in the file, from 0
  std::uint32_t stored_size = 0;  ///< bytes that follow
  std::uint32_t raw_size = 0;     ///< bytes after decompression
  std::uint64_t checksum = 0;     ///< XXH3 of the bytes before and of the stored payload
};
static_assert(sizeof(RecordHeader) == 24);

/// Starts the payload of kContents (no FlatBuffer: buffers may be large).
struct ContentsHeader {
  std::uint64_t buffer = 0;
  std::uint64_t offset = 0;
};
static_assert(sizeof(ContentsHeader) == 16);

/// Checksum of a record whose header is complete but for its checksum.
std::uint64_t checksum_of(const RecordHeader& header, std::span<const std::byte> stored) noexcept;
std::uint64_t checksum_of(const FileHeader& header) noexcept;

// Why a stretch ended, where no host call ended it. Names of host calls count from kFirstEntryPoint.
inline constexpr std::uint32_t kEndedByLength = 0;   ///< kMaxStretch reached: cut so that loops stay recognisable
inline constexpr std::uint32_t kEndedByNothing = 1;  ///< the capture ends here
inline constexpr std::uint32_t kFirstEntryPoint = 16;

/// An argument set that is not stored: only Statistics tell about it.
inline constexpr std::uint32_t kSetNotStored = ~std::uint32_t{0};

// A node's waits, as stored. 0 … : the node of the same graph with that number.
inline constexpr std::int32_t kWaitsForEarlier = -1;  ///< an operation of the lane before this stretch
inline constexpr std::int32_t kWaitsForForeign = -2;  ///< an event from elsewhere
// Which event a wait that leads out is for: its number in the stretch among those of its kind, times 4, and
inline constexpr std::uint32_t kRepeatedOutside = 1;  ///< kRepeatedWait
inline constexpr std::uint32_t kOrderedOutside = 2;   ///< kOrderedWait

/// What of a node a statistic is about.
enum class SlotKind : std::uint8_t { kArgument = 0, kWord = 1, kQueue = 2 };

}  // namespace refrain::capture::format
