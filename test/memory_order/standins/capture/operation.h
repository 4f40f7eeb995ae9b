// Records that have a header and nothing else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace refrain::capture {
using Handle = std::uint64_t;
using ObjectId = std::uint64_t;
enum class DefaultOrder : std::uint8_t { kNone, kIsDefault, kWithDefault };
struct QueueInfo {
  ObjectId id = 0;
  DefaultOrder default_order = DefaultOrder::kNone;
};
struct OperationHeader {
  std::uint64_t sequence, time_ns, queue, promise, host_ns, size;
};
struct Bytes {
  const std::byte* at;
  std::size_t count;
  [[nodiscard]] const std::byte* data() const { return at; }
  [[nodiscard]] std::size_t size() const { return count; }
};
class RecordBytes {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return sizeof(headers_); }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void resize(std::size_t size) { size_ = size; }
  void reserve(std::size_t) {}
  void clear() { size_ = 0; }
  std::byte* data() { return reinterpret_cast<std::byte*>(headers_); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(headers_); }
  std::byte* begin() { return data(); }
  void erase(std::byte*, std::byte*) {}

 private:
  OperationHeader headers_[2];
  std::size_t size_ = 0;
};
class OperationView {
 public:
  explicit OperationView(const std::byte* at) : at_(at) {}
  [[nodiscard]] const OperationHeader& header() const { return *reinterpret_cast<const OperationHeader*>(at_); }
  [[nodiscard]] Bytes bytes() const { return {at_, sizeof(OperationHeader)}; }

 private:
  const std::byte* at_;
};
class OperationWriter {
 public:
  explicit OperationWriter(RecordBytes& bytes) { bytes.resize(bytes.size() + sizeof(OperationHeader)); }
};
}  // namespace refrain::capture
