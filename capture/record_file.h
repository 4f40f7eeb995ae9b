// A capture file as numbered records: opened, bounds-checked, checksummed, decompressed. What the records
// mean is capture/reader.h's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/format.h"

namespace refrain::capture {

/// What is wrong with a capture file; the message names the place.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A regular file, open for reading. Every member may throw Refused. Thread-safe once made.
class RecordFile {
 public:
  explicit RecordFile(const std::string& name);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Bytes, when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Reads `bytes` bytes or, if the file has become shorter, fewer.
  std::size_t read(std::uint64_t position, void* into, std::size_t bytes) const;

  /// Why what is in the file may be somebody else's ("it belongs to another user"); empty if only the user, or root,
  /// could have written it.
  [[nodiscard]] std::string why_not_trusted() const;

  enum class Found { kRecord, kEnd, kCutShort, kDamaged };
  /// Reads and checks record `number` at `position`.
  Found read_record(std::uint64_t position, std::uint32_t number, format::RecordHeader& header,
                    std::vector<std::byte>& stored) const;

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// Decompresses a record's payload; false if the data is not what the header says.
bool unpack(const format::RecordHeader& header, const std::vector<std::byte>& stored, std::vector<std::byte>& raw);

}  // namespace refrain::capture
