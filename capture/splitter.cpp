#include "capture/splitter.h"

#include <algorithm>

namespace refrain::capture {
namespace {

std::uint64_t key_of(const OperationHeader& header) noexcept {
  const std::uint64_t counts =
      std::uint64_t{header.word_count} << 48U | std::uint64_t{header.argument_count} << 32U | header.value_bytes;
  const std::uint64_t kind = std::uint64_t{static_cast<std::uint16_t>(header.kind)} << 16U | header.flags;
  return mix(mix(mix(header.token, header.function), counts), kind);
}

}  // namespace

std::size_t choose_cut(std::span<const std::uint64_t> keys) {
  const std::size_t count = keys.size();
  // Knuth, Morris, Pratt: the longest proper prefix that is also a suffix gives the smallest period.
  std::vector<std::uint32_t> border(count + 1);
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < count; ++i) {
    while (length > 0 && keys[i] != keys[length]) {
      length = border[length];
    }
    length += keys[i] == keys[length] ? 1U : 0U;
    border[i + 1] = length;
  }
  const std::size_t period = std::max<std::size_t>(count - length, 1);  // nothing has none
  if (period <= count / 2) {
    return count / period * period;
  }
  constexpr std::size_t kNeighbours = 4;
  std::size_t best = count;
  std::uint64_t smallest = ~std::uint64_t{0};
  for (std::size_t cut = std::max(count / 2, kNeighbours); cut <= count; ++cut) {
    std::uint64_t hash = 0;
    for (std::size_t i = cut - kNeighbours; i < cut; ++i) {
      hash = mix(hash, keys[i]);
    }
    if (hash < smallest) {
      smallest = hash;
      best = cut;
    }
  }
  return best;
}

void Splitter::operation(const OperationView& operation) {
  const auto bytes = operation.bytes();
  while (!offsets_.empty() && storage_.size() + bytes.size() > format::kMaxStretchBytes) {
    emit(choose_cut(keys_), format::kEndedByLength, operation.header().time_ns);
  }
  offsets_.push_back(storage_.size());
  keys_.push_back(key_of(operation.header()));
  storage_.insert(storage_.end(), bytes.begin(), bytes.end());
  if (offsets_.size() >= format::kMaxStretch) {
    emit(choose_cut(keys_), format::kEndedByLength, operation.header().time_ns);
  }
}

bool Splitter::host_call(std::uint32_t entry_point, std::uint64_t time_ns) {
  if (offsets_.empty()) {
    return false;
  }
  emit(offsets_.size(), entry_point, time_ns);
  return true;
}

std::span<const OperationView> Splitter::open() {
  views_.clear();
  for (const std::size_t offset : offsets_) {
    views_.emplace_back(storage_.data() + offset);
  }
  return views_;
}

void Splitter::emit(std::size_t count, std::uint32_t ended_by, std::uint64_t end_ns) {
  const auto views = open().first(count);
  if (count < offsets_.size()) {
    end_ns = views_[count].header().time_ns;  // the stretch ends where the next one begins
  }
  sink_->stretch(views, ended_by, end_ns);
  const std::size_t taken = count < offsets_.size() ? offsets_[count] : storage_.size();
  storage_.erase(storage_.begin(), storage_.begin() + static_cast<std::ptrdiff_t>(taken));
  offsets_.erase(offsets_.begin(), offsets_.begin() + static_cast<std::ptrdiff_t>(count));
  keys_.erase(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t& offset : offsets_) {
    offset -= taken;
  }
}

}  // namespace refrain::capture
