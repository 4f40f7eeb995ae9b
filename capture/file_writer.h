// Appends framed, compressed records to a capture file (capture/format.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/definitions.h"
#include "capture/format.h"
#include "env/older_files.h"
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
  /// Of one of `older` the place is taken, by settle(). `file`: a pattern (env::FileName).
  /// `mode`: its permissions. False and `error` (names the file) if that fails.
  bool open(const std::string& file, unsigned mode, std::string* error, const env::OlderFiles& older = {});
  /// Appends one record with a single write. False and `error` if that fails: the file then ends after
  /// the last good record, if the system let us cut it there, and nothing more may be written.
  bool append(format::RecordType type, std::span<const std::uint8_t> payload, std::string* error);
  /// There is something in it now that is worth to be kept: an older file may go. False and `error` as above.
  bool settle(std::string* error);
  /// Nothing was worth to be kept: no file is left that was not there before. Nothing more may be written.
  void discard() noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return file_->name(); }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return size_; }

 private:
  bool write_all(std::span<const std::byte> bytes, std::string* error);

  std::unique_ptr<env::OwnFile> file_ = std::make_unique<env::OwnFile>();
  unsigned mode_ = 0;
  std::vector<std::byte> waiting_;  ///< what comes before settle(), where an older file has the name
  std::uint64_t size_ = 0;
  std::uint32_t records_ = 0;
  ZSTD_CCtx_s* compressor_ = nullptr;
  std::vector<std::byte> scratch_;
};

}  // namespace refrain::capture
