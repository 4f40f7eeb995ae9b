// How large anything in a capture file may be. The writer stays within these limits whatever the program does, the
// reader refuses what is beyond them: so whatever is written can be read, and what nobody writes takes no memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::capture::format {

/// Bytes of a Code record, raw and stored. Programs that would need more are not stored.
inline constexpr std::uint32_t kMaxCodeRecordBytes = 64U << 20U;
/// Bytes of any other record. The writer ends records at kBatchBytes; what is added last is within the limits below.
inline constexpr std::uint32_t kMaxRecordBytes = 8U << 20U;
inline constexpr std::uint32_t kBatchBytes = 1U << 20U;
inline constexpr std::uint32_t kContentsPiece = 4U << 20U;  ///< bytes of contents in one record
/// Bytes of contents that a writer stores, before they are compressed; equal pieces count once. What would go beyond is
/// left out, buffer by buffer. Also the most of one buffer.
inline constexpr std::uint64_t kMaxContents = std::uint64_t{256} << 20U;

/// Bytes of a name, build options, the command line … Longer ones are written shortened (env::shortened).
inline constexpr std::size_t kMaxText = 16384;
inline constexpr std::size_t kMaxCallName = 128;    ///< bytes of a host call's name
inline constexpr std::size_t kMaxDescription = 64;  ///< words that describe an image, sampler or allocation

inline constexpr std::uint32_t kMaxStretch = 1024;  ///< operations between two cuts
/// Bytes of the records of one stretch (stretch_bytes()). It is cut where there would be more.
inline constexpr std::size_t kMaxStretchBytes = std::size_t{4} << 20U;
/// Bytes of one operation's record. Of a longer one kind, arguments and waits are not told: it becomes "other".
inline constexpr std::size_t kMaxOperationBytes = std::size_t{1} << 20U;
inline constexpr std::uint32_t kMaxArgumentSets = 64;  ///< stored in full per graph
inline constexpr std::size_t kMaxStatistics = 65536;  ///< values of one graph of which changes are told; the first ones

inline constexpr std::size_t kMaxCalls = 65536;      ///< of a lane, whose times are in one record
inline constexpr std::size_t kMaxCallKinds = 16384;  ///< different ones of them

inline constexpr std::uint32_t kMaxHistoryDepth = 64;  ///< loops within loops
inline constexpr std::size_t kMaxLoopItems = 8192;     ///< items of an outermost loop, itself included
/// Items of a lane that are told again; also where the writer ends a record's closed ones.
inline constexpr std::size_t kMaxOpenItems = 24576;

/// Bytes of the records of a stretch: `words` are arguments in all, without the queues.
inline constexpr std::uint64_t stretch_bytes(std::uint64_t nodes, std::uint64_t words, std::uint64_t waits) noexcept {
  return nodes * 96 + (words + waits) * 8;
}

/// Bytes of memory that reading and showing a file of this size may take at any time, unless the user says otherwise.
inline constexpr std::uint64_t max_memory(std::uint64_t file_bytes) noexcept {
  return (std::uint64_t{64} << 20U) + (file_bytes < (std::uint64_t{1} << 50U) ? file_bytes * 32 : file_bytes);
}

}  // namespace refrain::capture::format
