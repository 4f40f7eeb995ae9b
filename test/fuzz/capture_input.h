// What the fuzz targets of capture files share: any bytes as a file.
//
// A random file fails at its first checksum. So all files are tried as they are and then once more
// with framing repaired: magic, record numbers, sizes and checksums are made right, the rest stays.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "capture/format.h"

namespace refrain::test {

namespace format = capture::format;

/// A file in memory with a name.
class InputFile {
 public:
  InputFile() : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (file_ < 0) {
      std::abort();
    }
    name_ = "/proc/self/fd/" + std::to_string(file_);
  }
  void set(const std::vector<std::byte>& bytes) const {
    if (::ftruncate(file_, static_cast<off_t>(bytes.size())) != 0 ||
        ::pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int file_;
  std::string name_;
};

inline std::vector<std::byte> repaired(std::vector<std::byte> bytes) {
  format::FileHeader header;
  if (bytes.size() < sizeof(header)) {
    return {};
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.magic = format::kMagic;
  header.version = format::kVersion;
  header.header_size = sizeof(header);
  header.checksum = format::checksum_of(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::size_t position = sizeof(header);
  for (std::uint32_t number = 0; bytes.size() - position >= sizeof(format::RecordHeader); ++number) {
    format::RecordHeader record;
    std::memcpy(&record, bytes.data() + position, sizeof(record));
    const std::size_t rest = bytes.size() - position - sizeof(record);
    const bool plain = record.stored_size >= record.raw_size;
    record.number = number;
    record.stored_size = static_cast<std::uint32_t>(std::min<std::size_t>(record.stored_size, rest));
    if (plain) {
      record.raw_size = record.stored_size;
    }
    const auto payload = std::span(bytes).subspan(position + sizeof(record), record.stored_size);
    record.checksum = format::checksum_of(record, payload);
    std::memcpy(bytes.data() + position, &record, sizeof(record));
    position += sizeof(record) + record.stored_size;
  }
  return bytes;
}

/// Runs `target(file name)` for the bytes as they are, and repaired.
template <typename Target>
void with_both(const std::uint8_t* data, std::size_t size, Target&& target) {
  static const InputFile file;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  file.set(bytes);
  target(file.name());
  bytes = repaired(std::move(bytes));
  if (!bytes.empty()) {
    file.set(bytes);
    target(file.name());
  }
}

}  // namespace refrain::test
