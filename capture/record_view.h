// One record's payload while it is looked at: what is wrong with it is told with its offset. Only for the reader.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "capture/limits.h"
#include "capture/record_file.h"

namespace refrain::capture {

class RecordView {
 public:
  /// `raw` is aligned as operator new does it and must outlive the view.
  RecordView(std::uint64_t position, std::span<const std::byte> raw) noexcept : position_(position), raw_(raw) {}

  [[nodiscard]] std::span<const std::byte> raw() const noexcept { return raw_; }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Refused("the record at offset " + std::to_string(position_) + " makes no sense: " + why);
  }
  void expect(bool condition, const char* why) const {
    if (!condition) {
      refuse(why);
    }
  }

  template <typename Table>
  [[nodiscard]] const Table& root(bool verified = false) const {
    if (verified) {
      return *flatbuffers::GetRoot<Table>(raw_.data());
    }
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(raw_.data()), raw_.size(), 16, 1U << 22U);
    expect(verifier.VerifyBuffer<Table>(nullptr), "its fields are not where they should be");
    return *flatbuffers::GetRoot<Table>(raw_.data());
  }

  /// Number of elements, all of which are about to be looked at. (The verifier does not look at where in memory 8-byte
  /// elements begin.)
  template <typename T>
  std::size_t count(const flatbuffers::Vector<T>* vector) {
    constexpr std::size_t stride = flatbuffers::IndirectHelper<T>::element_stride;
    if (vector == nullptr || vector->size() == 0) {
      return 0;
    }
    expect(stride % 8 != 0 || reinterpret_cast<std::uintptr_t>(vector->Data()) % 8 == 0,
           "its fields are not where they should be");
    claim(std::uint64_t{vector->size()} * stride);
    return vector->size();
  }
  std::string text(const flatbuffers::String* string) {
    if (string == nullptr) {
      return {};
    }
    expect(string->size() <= format::kMaxText, "a name is longer than names may be");
    claim(string->size());
    return string->str();
  }

 private:
  /// Writers use no part twice. Readers that allowed it would do the work of a file a thousand times as large.
  void claim(std::uint64_t bytes) {
    claimed_ += bytes;
    expect(claimed_ <= raw_.size(), "parts of it are used more than once");
  }

  std::uint64_t position_;
  std::span<const std::byte> raw_;
  std::uint64_t claimed_ = 0;
};

}  // namespace refrain::capture
