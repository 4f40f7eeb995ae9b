#include "capture/reader.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <fstream>

#include "capture/capture_reader.h"

namespace refrain::capture {
namespace {

using format::RecordType;
using Found = RecordFile::Found;

}  // namespace

void CaptureReader::read_header() {
  format::FileHeader header;
  const std::size_t got = store_->file().read(0, &header, sizeof(header));
  if (got < sizeof(header.magic) || header.magic != format::kMagic) {
    throw Refused(got == 0 ? "it is empty" : "it is not a capture file (these begin with \"REFRFN\")");
  }
  if (got < sizeof(header)) {
    throw Refused("it ends within its header");
  }
  if (header.version != format::kVersion) {
    throw Refused("it has version " + std::to_string(header.version) + ", this program reads version " +
                  std::to_string(format::kVersion));
  }
  if (header.checksum != format::checksum_of(header) || header.header_size != sizeof(header)) {
    throw Refused("its header (offset 0) is damaged");
  }
  capture_.start_realtime_ns = header.start_realtime_ns;
  capture_.start_steady_ns = header.start_steady_ns;
  capture_.process = header.process;
  position_ = sizeof(header);
}

Capture CaptureReader::read() {
  const RecordFile& file = store_->file();
  capture_.file_bytes = file.size();
  read_header();
  const auto stop = [&](const char* how) {
    capture_.cut_short = std::string(how) + " after " + std::to_string(capture_.records) + " records, at offset " +
                         std::to_string(position_) + " of " + std::to_string(file.size());
  };
  for (std::uint32_t number = 0;; ++number) {
    format::RecordHeader header;
    const Found found = file.read_record(position_, number, header, stored_);
    if (found == Found::kEnd) {
      break;
    }
    if (found == Found::kCutShort) {
      stop("truncated");
      break;
    }
    if (found == Found::kDamaged) {
      stop("damaged");
      capture_.damaged = true;
      break;
    }
    const CaptureStore::Loan loan(*store_, header.raw_size);
    RecordView refusing(position_, {});
    refusing.expect(unpack(header, stored_, raw_), "it does not decompress to the size it names");
    RecordView record(position_, raw_);
    take(static_cast<RecordType>(header.type), record);
    position_ += sizeof(header) + header.stored_size;
    ++capture_.records;
    if (raw_.capacity() > format::kMaxRecordBytes) {
      stored_ = {};
      raw_ = {};
    }
  }
  store_->charge(capture_.queues.size() * 2 * sizeof(QueueInfo));
  store_->queues = capture_.queues;
  return std::move(capture_);
}

void CaptureReader::take(RecordType type, RecordView& record) {
  switch (type) {
    case RecordType::kMeta: return take_meta(record);
    case RecordType::kCode: return take_code(record);
    case RecordType::kContents: return take_contents(record);
    case RecordType::kContentsReferences: return take_contents_references(record);
    case RecordType::kEntryPoints: return take_entry_points(record);
    case RecordType::kGraphs: return take_graphs(record);
    case RecordType::kArguments: return take_sets(record);
    case RecordType::kStatistics: return take_statistics(record);
    case RecordType::kHistory: return take_history(record);
    case RecordType::kTimes: return take_times(record);
    case RecordType::kHostCalls: return take_host_calls(record);
    case RecordType::kRegions: return take_regions(record);
    // Definitions, or a type of a later version: the file says what it adds, not what it changes.
    default: return decode_definitions(type, record, *store_, capture_);
  }
}

void CaptureReader::take_meta(RecordView& record) {
  const auto& meta = record.root<wire::Meta>();
  capture_.writer = record.text(meta.writer());
  capture_.command = record.text(meta.command());
}

void CaptureReader::take_code(RecordView& record) {
  const auto& code = record.root<wire::Code>();
  record.expect(code.kind() <= static_cast<std::uint8_t>(CodeKind::kBuiltin), "unknown kind of code");
  StoredCode stored;
  stored.id = code.id();
  stored.kind = static_cast<CodeKind>(code.kind());
  stored.size = record.count(code.bytes());
  stored.place = place();
  store_->charge(2 * sizeof(stored));
  capture_.code.try_emplace(stored.id, stored);
}

void CaptureReader::take_contents(RecordView& record) {
  const auto raw = record.raw();
  record.expect(raw.size() >= sizeof(format::ContentsHeader) &&
                    raw.size() <= sizeof(format::ContentsHeader) + format::kContentsPiece,
                "a piece of contents has the wrong size");
  format::ContentsHeader header;
  std::memcpy(&header, raw.data(), sizeof(header));
  const std::uint64_t size = raw.size() - sizeof(header);
  record.expect(header.offset <= ~std::uint64_t{0} - size, "a piece of contents lies outside its buffer");
  store_->charge(6 * sizeof(Capture::Piece));
  const Capture::Piece piece{position_, header.offset, size, static_cast<std::uint32_t>(capture_.records)};
  pieces_.push_back(piece);
  capture_.contents_[header.buffer].push_back(piece);
}

void CaptureReader::take_contents_references(RecordView& record) {
  const auto& content = record.root<wire::ContentsReferences>();
  for (std::size_t i = 0, count = record.count(content.references()); i < count; ++i) {
    const auto& reference = *content.references()->Get(static_cast<flatbuffers::uoffset_t>(i));
    record.expect(reference.piece() < pieces_.size(), "a reference to contents that are not in front of it");
    record.expect(reference.offset() < format::kMaxContents, "a reference to contents lies outside its buffer");
    store_->charge(4 * sizeof(Capture::Piece));
    std::vector<Capture::Piece>& pieces = capture_.contents_[reference.buffer()];
    // A reference is short, and reading what it names is work: of one buffer there are no more than of the largest.
    record.expect(pieces.size() < format::kMaxContents / format::kContentsPiece, "too many contents of one buffer");
    Capture::Piece& piece = pieces.emplace_back(pieces_[reference.piece()]);
    piece.offset = reference.offset();
  }
}

void CaptureReader::take_entry_points(RecordView& record) {
  const auto& content = record.root<wire::EntryPoints>();
  for (std::size_t i = 0, count = record.count(content.entry_points()); i < count; ++i) {
    const auto& entry = *content.entry_points()->Get(static_cast<flatbuffers::uoffset_t>(i));
    record.expect(entry.id() >= format::kFirstEntryPoint, "a host call with a reserved number");
    std::string name = record.text(entry.name());
    record.expect(name.size() <= format::kMaxCallName, "a host call with too long a name");
    store_->charge(128 + name.size());
    capture_.entry_points_.try_emplace(entry.id(), std::move(name));
  }
}

void CaptureReader::take_host_calls(RecordView& record) {
  const auto& content = record.root<wire::HostCalls>();
  const std::size_t count = record.count(content.calls());
  const std::uint64_t before = capture_.host_calls.capacity();
  capture_.host_calls.clear();
  store_->charge(count > before ? (count - before) * sizeof(HostCallCount) : 0);
  capture_.host_calls.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& call = *content.calls()->Get(static_cast<flatbuffers::uoffset_t>(i));
    capture_.host_calls.push_back({call.entry_point(), call.cuts(), call.idle()});
  }
}

void CaptureReader::take_regions(RecordView& record) {
  const auto& content = record.root<wire::Regions>();
  for (std::size_t i = 0, count = record.count(content.regions()); i < count; ++i) {
    const auto& region = *content.regions()->Get(static_cast<flatbuffers::uoffset_t>(i));
    record.expect(region.id() != 0 && region.id() <= env::Region::kMost, "a region with a number that cannot be");
    record.expect(region.parent() == 0 || (region.parent() < region.id() && region_numbers_.contains(region.parent())),
                  "a region inside an unknown one");
    const std::size_t graphs = record.count(region.graphs());
    const auto [known, is_new] = region_numbers_.try_emplace(region.id(), capture_.regions.size());
    RegionUse& use = is_new ? capture_.regions.emplace_back() : capture_.regions[known->second];
    record.expect(is_new || use.parent == region.parent(), "a region that is inside two others");
    // What comes again takes no more memory than it has.
    const std::size_t more = graphs - std::min(graphs, use.graphs.capacity());
    store_->charge((is_new ? 256 : 0) + more * sizeof(use.graphs[0]));
    use.depth = region.parent() == 0 ? 1 : capture_.regions[region_numbers_.at(region.parent())].depth + 1;
    record.expect(use.depth <= env::Region::kDeepest, "too many regions inside one another");
    use.id = region.id();
    use.parent = region.parent();
    use.name = record.text(region.name());
    record.expect(use.name.size() <= env::Region::kLongestName, "a region with too long a name");
    use.graphs.clear();
    use.graphs.reserve(graphs);
    for (std::size_t j = 0; j < graphs; ++j) {
      const auto& graph = *region.graphs()->Get(static_cast<flatbuffers::uoffset_t>(j));
      record.expect(graph.graph() < capture_.graphs.size(), "a region with an unknown graph");
      use.graphs.emplace_back(graph.graph(), graph.times());
    }
  }
}

std::vector<std::byte> Capture::read_code(CodeId id) const {
  const auto known = code.find(id);
  if (known == code.end()) {
    return {};
  }
  const AgainRead<wire::Code> again(*store_, known->second.place, RecordType::kCode);
  const auto* bytes = again.root().bytes();
  if (bytes == nullptr) {
    return {};
  }
  const auto* first = reinterpret_cast<const std::byte*>(bytes->Data());
  return {first, first + bytes->size()};
}

bool Capture::read_contents(ObjectId buffer, std::span<std::byte> into, std::string* error) const {
  try {
    const auto pieces = contents_.find(buffer);
    if (pieces == contents_.end()) {
      throw Refused("it holds no contents of buffer " + std::to_string(buffer));
    }
    const RecordFile& source = store_->file();
    std::vector<std::byte> stored, raw;
    for (const Piece& piece : pieces->second) {
      format::RecordHeader header;
      if (source.read_record(piece.position, piece.number, header, stored) != Found::kRecord ||
          header.type != static_cast<std::uint32_t>(RecordType::kContents) || !unpack(header, stored, raw) ||
          raw.size() != piece.size + sizeof(format::ContentsHeader)) {
        throw Refused("it was changed since it was opened (offset " + std::to_string(piece.position) + ")");
      }
      if (piece.offset < into.size()) {
        const std::size_t bytes = std::min<std::uint64_t>(piece.size, into.size() - piece.offset);
        std::memcpy(into.data() + piece.offset, raw.data() + sizeof(format::ContentsHeader), bytes);
      }
    }
    return true;
  } catch (const std::exception& problem) {
    if (error != nullptr) {
      *error = "cannot read the capture file '" + file + "': " + problem.what();
    }
    return false;
  }
}

bool is_capture(const std::string& file) {
  std::uint64_t magic = 0;
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&magic), sizeof(magic));
  return magic == format::kMagic;
}

std::optional<Capture> read_capture(const std::string& file, std::string* error, std::uint64_t max_memory) noexcept {
  try {
    try {
      return CaptureReader(file, max_memory).read();
    } catch (const std::exception& problem) {
      if (error != nullptr) {
        *error = "cannot read the capture file '" + file + "': " + problem.what();
      }
    }
  } catch (...) {
    // Not even the message found memory.
  }
  return std::nullopt;
}

}  // namespace refrain::capture
