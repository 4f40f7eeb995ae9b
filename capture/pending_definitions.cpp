#include "capture/pending_definitions.h"

#include <cstring>
#include <string>

#include "capture/format.h"
#include "env/log.h"

namespace refrain::capture {

void PendingDefinitions::add(const Definitions& definitions) {
  const auto add = [&]<typename Info>(std::span<const Info> infos) {
    for (const Info& info : infos) {
      if (known_definitions_[definitions.index()].insert(info.id).second) {
        std::get<std::vector<Info>>(pending_.definitions).push_back(info);
      }
    }
  };
  std::visit(add, definitions);
}

std::uint16_t PendingDefinitions::reason(std::string_view why) {
  if (const auto known = reasons_.find(why); known != reasons_.end()) {
    return known->second;
  }
  constexpr std::size_t kMost = 4096;  // limit: of memory
  if (reasons_.size() >= kMost) {
    return 0;
  }
  const auto number = static_cast<std::uint16_t>(reasons_.size() + 1);
  const ReasonInfo info{number, std::string(why)};
  add(std::span<const ReasonInfo>(&info, 1));
  reasons_.emplace(why, number);
  return number;
}

void PendingDefinitions::add(const CodeInfo& info) {
  if (!known_code_.insert(info.id).second) {
    return;
  }
  if (info.bytes.size() > format::kMaxCodeRecordBytes - 4096) {
    env::log_warning("capture: a program of " + std::to_string(info.bytes.size() >> 20U) +
                     " MiB is too large to be stored; the capture can be dumped but not benchmarked");
    return;
  }
  OwnedCode& owned = pending_.code.emplace_back();
  owned.info = info;
  owned.bytes.assign(info.bytes.begin(), info.bytes.end());
  pending_.bytes += info.bytes.size();
}

bool PendingDefinitions::begin_contents(ObjectId buffer, std::span<const StoredContents::Piece> pieces) {
  if (!known_contents_.insert(buffer).second) {
    return false;
  }
  if (stored_.reserve(pieces)) {
    return true;
  }
  std::uint64_t bytes = 0;
  for (const StoredContents::Piece& piece : pieces) {
    bytes += piece.bytes.size();
  }
  leave_out_contents(bytes);
  return false;
}

void PendingDefinitions::add_piece(ObjectId buffer, std::uint64_t offset, const StoredContents::Piece& piece) {
  if (const auto number = stored_.find(piece.hash)) {
    pending_.references.push_back({buffer, offset, *number});
    return;
  }
  const format::ContentsHeader header{buffer, offset};
  std::vector<std::uint8_t> payload(sizeof(header) + piece.bytes.size());
  std::memcpy(payload.data(), &header, sizeof(header));
  std::memcpy(payload.data() + sizeof(header), piece.bytes.data(), piece.bytes.size());
  pending_.contents.push_back(std::move(payload));
  pending_.bytes += piece.bytes.size();
  stored_.add(piece.hash);
}

void PendingDefinitions::leave_out_contents(std::uint64_t bytes) {
  if (stored_.left_out_buffers() == 0) {
    env::log_warning("capture: the contents of a buffer of " + std::to_string(bytes >> 20U) +
                     " MiB are left out, and those of others that do not fit into " +
                     std::to_string(format::kMaxContents >> 20U) + " MiB in all; the bench makes them up");
  }
  stored_.leave_out(bytes);
}

}  // namespace refrain::capture
