#include "capture/file_writer.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace refrain::capture {
namespace {

std::uint64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// Small payloads only grow.
constexpr std::size_t kWorthCompressing = 64;
constexpr int kLevel = 6;

}  // namespace

FileWriter::~FileWriter() {
  ZSTD_freeCCtx(compressor_);
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

bool FileWriter::open(const std::string& file, std::string* error) {
  const auto fail = [&](const std::string& why) {
    *error = "cannot write the capture file '" + file + "': " + why;
    return false;
  };
  file_ = file;
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    return fail(std::system_category().message(errno));
  }
  // A lock of the process, not of the open file: children that outlive us do not keep it.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(descriptor_, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN)) {
    return fail("another process is writing to it; put %p (the process id) in REFRAIN_CAPTURE_FILE");
  }
  if (::ftruncate(descriptor_, 0) != 0 && errno != EINVAL) {  // EINVAL: a device or a pipe
    return fail(std::system_category().message(errno));
  }
  compressor_ = ZSTD_createCCtx();
  if (compressor_ == nullptr) {
    return fail("out of memory");
  }
  ZSTD_CCtx_setParameter(compressor_, ZSTD_c_compressionLevel, kLevel);
  format::FileHeader header;
  header.start_realtime_ns = now_ns(CLOCK_REALTIME);
  header.start_steady_ns = now_ns(CLOCK_MONOTONIC);
  header.process = static_cast<std::uint64_t>(::getpid());
  header.checksum = format::checksum_of(header);
  return write_all(std::as_bytes(std::span(&header, 1)), error);
}

bool FileWriter::append(format::RecordType type, std::span<const std::uint8_t> payload, std::string* error) {
  const std::size_t head = sizeof(format::RecordHeader);
  if (payload.size() > format::kMaxRecordBytes) {
    *error = "cannot write the capture file '" + file_ + "': a record of " + std::to_string(payload.size()) +
             " bytes is over the limit";
    return false;
  }
  std::size_t stored = payload.size();
  if (payload.size() >= kWorthCompressing) {
    scratch_.resize(head + ZSTD_compressBound(payload.size()));
    stored =
        ZSTD_compress2(compressor_, scratch_.data() + head, scratch_.size() - head, payload.data(), payload.size());
    if (ZSTD_isError(stored) != 0U || stored >= payload.size()) {
      stored = payload.size();
    }
  }
  scratch_.resize(head + stored);
  if (stored == payload.size() && stored != 0) {
    std::memcpy(scratch_.data() + head, payload.data(), stored);
  }
  format::RecordHeader header;
  header.type = static_cast<std::uint32_t>(type);
  header.number = records_;
  header.stored_size = static_cast<std::uint32_t>(stored);
  header.raw_size = static_cast<std::uint32_t>(payload.size());
  header.checksum = format::checksum_of(header, std::span(scratch_).subspan(head));
  std::memcpy(scratch_.data(), &header, head);
  if (!write_all(scratch_, error)) {
    return false;
  }
  ++records_;
  if (scratch_.capacity() > (std::size_t{8} << 20U)) {
    scratch_ = {};
  }
  return true;
}

bool FileWriter::write_all(std::span<const std::byte> bytes, std::string* error) {
  const std::uint64_t good = size_;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      const int reason = written == 0 ? ENOSPC : errno;
      // Readers stop at an incomplete record anyway; without it nothing has to be explained.
      [[maybe_unused]] const int cut = ::ftruncate(descriptor_, static_cast<off_t>(good));
      *error = "cannot write the capture file '" + file_ + "': " + std::system_category().message(reason) +
               "; it ends after " + std::to_string(records_) + " records";
      return false;
    }
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace refrain::capture
