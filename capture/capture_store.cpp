#include "capture/capture_store.h"

namespace refrain::capture {

CaptureStore::CaptureStore(const std::string& name, std::uint64_t max_memory)
    : file_(name), max_memory_(max_memory != 0 ? max_memory : format::max_memory(file_.size())) {}

void CaptureStore::charge(std::uint64_t bytes) {
  const std::uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes > max_memory_ || before + bytes < before) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    throw Refused("it would take more than " + std::to_string(max_memory_ >> 20U) +
                  " MiB of memory, which is more than captures of its size need; if you know where it comes from, "
                  "allow more with --max-memory-mb");
  }
}

std::shared_ptr<const CaptureStore::Record> CaptureStore::record(const RecordPlace& place, format::RecordType type) {
  const env::MutexLock lock(mutex_);
  if (last_ != nullptr && last_position_ == place.position) {
    return last_;
  }
  last_ = nullptr;
  format::RecordHeader header;
  std::vector<std::byte> stored;
  const auto found = file_.read_record(place.position, place.number, header, stored);
  if (found != RecordFile::Found::kRecord || header.type != static_cast<std::uint32_t>(type)) {
    throw Refused("it was changed since it was opened (offset " + std::to_string(place.position) + ")");
  }
  auto read = std::make_shared<Record>(*this, header.raw_size);
  if (!unpack(header, stored, read->raw)) {
    throw Refused("it was changed since it was opened (offset " + std::to_string(place.position) + ")");
  }
  last_ = read;
  last_position_ = place.position;
  return read;
}

}  // namespace refrain::capture
