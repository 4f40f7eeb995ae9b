// Appends framed, compressed records to a capture file (capture/format.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/definitions.h"
#include "capture/format.h"
#include "env/own_file.h"

struct ZSTD_CCtx_s;

namespace refrain::capture {

/// Not thread-safe. Owns the file.
class FileWriter {
 public:
  FileWriter() = default;
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Makes the file and writes its header; another name is taken where there is a file already (env::OwnFile::create).
  /// `file`: a pattern (env::FileName).
  /// `mode`: its permissions. False and `error` (names the file) if that fails.
  bool open(const std::string& file, unsigned mode, std::string* error);
  /// Appends one record with a single write. False and `error` if that fails: the file then ends after
  /// the last good record, if the system let us cut it there, and nothing more may be written.
  bool append(format::RecordType type, std::span<const std::uint8_t> payload, std::string* error);
  [[nodiscard]] const std::string& name() const noexcept { return file_.name(); }

 private:
  bool write_all(std::span<const std::byte> bytes, std::string* error);

  env::OwnFile file_;
  std::uint64_t size_ = 0;
  std::uint32_t records_ = 0;
  ZSTD_CCtx_s* compressor_ = nullptr;
  std::vector<std::byte> scratch_;
};

}  // namespace refrain::capture
