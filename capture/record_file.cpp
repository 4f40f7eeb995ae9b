#include "capture/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "capture/definitions.h"

namespace refrain::capture {

RecordFile::RecordFile(const std::string& name) : descriptor_(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    throw Refused(std::system_category().message(errno));
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Refused("it is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::string RecordFile::why_not_trusted() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    return "its owner is not known";
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return "it belongs to another user (number " + std::to_string(status.st_uid) + ")";
  }
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "others may write to it" : "";
}

RecordFile::~RecordFile() {
  ::close(descriptor_);
}

std::size_t RecordFile::read(std::uint64_t position, void* into, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor_, static_cast<char*>(into) + done, bytes - done, static_cast<off_t>(position + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw Refused(std::system_category().message(errno));
    }
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

RecordFile::Found RecordFile::read_record(std::uint64_t position, std::uint32_t number, format::RecordHeader& header,
                                          std::vector<std::byte>& stored) const {
  const std::uint64_t rest = size() - std::min(position, size());
  if (rest == 0) {
    return Found::kEnd;
  }
  if (rest < sizeof(header) || read(position, &header, sizeof(header)) != sizeof(header)) {
    return Found::kCutShort;
  }
  const std::uint32_t most = header.type == static_cast<std::uint32_t>(format::RecordType::kCode)
                                 ? format::kMaxCodeRecordBytes
                                 : format::kMaxRecordBytes;
  if (header.number != number || header.raw_size > most || header.stored_size > header.raw_size) {
    return Found::kDamaged;
  }
  if (rest - sizeof(header) < header.stored_size) {
    return Found::kCutShort;
  }
  stored.resize(header.stored_size);
  if (read(position + sizeof(header), stored.data(), stored.size()) != stored.size()) {
    return Found::kCutShort;
  }
  return header.checksum == format::checksum_of(header, stored) ? Found::kRecord : Found::kDamaged;
}

bool unpack(const format::RecordHeader& header, const std::vector<std::byte>& stored, std::vector<std::byte>& raw) {
  if (header.stored_size == header.raw_size) {
    raw = stored;
    return true;
  }
  // The frame must agree with the header before anything is allocated for it.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != header.raw_size) {
    return false;
  }
  raw.resize(header.raw_size);
  return ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size()) == header.raw_size;
}

}  // namespace refrain::capture
