#include "capture/file_writer.h"

#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "env/file_name.h"

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
constexpr std::size_t kMostWaiting = std::size_t{64} << 20U;  // limit: of definitions, before anything is submitted

}  // namespace

FileWriter::~FileWriter() {
  ZSTD_freeCCtx(compressor_);
}

bool FileWriter::open(const std::string& file, unsigned mode, std::string* error, const env::OlderFiles& older) {
  const auto fail = [&](const std::string& why) {
    *error = "cannot write the capture file '" + file + "': " + why;
    return false;
  };
  mode_ = mode;
  if (const std::error_code reason = file_->create(env::FileName(file), mode, &older)) {
    return fail(reason.message());
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
  if (!write_all(std::as_bytes(std::span(&header, 1)), error)) {
    file_->remove();
    return false;
  }
  return true;
}

bool FileWriter::settle(std::string* error) {
  if (!file_->older()) {
    return true;
  }
  auto taken = std::make_unique<env::OwnFile>();
  if (const std::error_code reason = taken->replace(name(), mode_, waiting_)) {
    *error = "cannot write the capture file '" + name() + "': " + reason.message() + "; the older one stays as it is";
    return false;
  }
  file_ = std::move(taken);
  waiting_ = {};
  return true;
}

void FileWriter::discard() noexcept {
  if (!file_->older()) {
    file_->cut(0, size_);  // one that was there and empty is that again
  }
  file_->remove();
  waiting_ = {};
}

bool FileWriter::append(format::RecordType type, std::span<const std::uint8_t> payload, std::string* error) {
  const std::size_t head = sizeof(format::RecordHeader);
  if (payload.size() > (type == format::RecordType::kCode ? format::kMaxCodeRecordBytes : format::kMaxRecordBytes)) {
    *error = "cannot write the capture file '" + name() + "': a record of " + std::to_string(payload.size()) +
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
  if (file_->older()) {
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    size_ += bytes.size();
    return waiting_.size() < kMostWaiting || settle(error);
  }
  std::size_t written = 0;
  if (const int reason = file_->write(bytes, &written); reason != 0) {
    // Readers stop at an incomplete record anyway; without it nothing has to be explained.
    if (written != 0) {
      file_->cut(size_, written);
    }
    *error = "cannot write the capture file '" + name() +
             "': " + (reason == EBADF ? "the program closed it" : std::system_category().message(reason)) +
             "; it ends after " + std::to_string(records_) + " records";
    return false;
  }
  size_ += bytes.size();
  return true;
}

}  // namespace refrain::capture
