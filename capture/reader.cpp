#include "capture/reader.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "capture/capture_reader.h"

namespace refrain::capture {
namespace {

using format::RecordType;
using Found = RecordFile::Found;

std::string text(const flatbuffers::String* string) {
  return string != nullptr ? string->str() : std::string();
}

}  // namespace

void CaptureReader::read_header() {
  format::FileHeader header;
  const std::size_t got = file_.read(0, &header, sizeof(header));
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
  capture_.file_bytes = file_.size();
  budget_ = format::max_model_bytes(file_.size());
  read_header();
  const auto stop = [&](const char* how) {
    capture_.cut_short = std::string(how) + " after " + std::to_string(capture_.records) + " records, at offset " +
                         std::to_string(position_) + " of " + std::to_string(file_.size());
  };
  for (std::uint32_t number = 0;; ++number) {
    format::RecordHeader header;
    const Found found = file_.read_record(position_, number, header, stored_);
    if (found == Found::kEnd) {
      break;
    }
    if (found == Found::kCutShort) {
      stop("truncated");
      break;
    }
    if (found == Found::kDamaged) {
      stop("damaged");
      break;
    }
    const auto type = static_cast<RecordType>(header.type);
    if (type != RecordType::kContents) {
      charge(header.raw_size);
    }
    expect(unpack(header, stored_, raw_), "it does not decompress to the size it names");
    take(type);
    position_ += sizeof(header) + header.stored_size;
    ++capture_.records;
  }
  for (const std::uint64_t number : lane_order_) {
    Lane& lane = lanes_[number];
    LaneHistory& history = capture_.lanes.emplace_back();
    history.lane = number;
    history.items = std::move(lane.settled);
    history.items.insert(history.items.end(), lane.open.begin(), lane.open.end());
  }
  capture_.queues = *queues_;
  return std::move(capture_);
}

void CaptureReader::take(RecordType type) {
  switch (type) {
    case RecordType::kMeta: return take_meta(table<wire::Meta>());
    case RecordType::kDevices: return take_devices(table<wire::Devices>());
    case RecordType::kQueues: return take_queues(table<wire::Queues>());
    case RecordType::kCode: return take_code(table<wire::Code>());
    case RecordType::kFunctions: return take_functions(table<wire::Functions>());
    case RecordType::kBuffers: return take_buffers(table<wire::Buffers>());
    case RecordType::kContents: return take_contents();
    case RecordType::kEntryPoints: return take_entry_points(table<wire::EntryPoints>());
    case RecordType::kGraphs: {
      const auto& graphs = table<wire::Graphs>();
      for (std::size_t i = 0; i < size_of(graphs.graphs()); ++i) {
        take_graph(*graphs.graphs()->Get(static_cast<flatbuffers::uoffset_t>(i)));
      }
      return;
    }
    case RecordType::kArguments: {
      const auto& sets = table<wire::ArgumentSets>();
      for (std::size_t i = 0; i < size_of(sets.sets()); ++i) {
        take_set(*sets.sets()->Get(static_cast<flatbuffers::uoffset_t>(i)));
      }
      return;
    }
    case RecordType::kStatistics: return take_statistics(table<wire::Statistics>());
    case RecordType::kHistory: return take_history(table<wire::History>());
    case RecordType::kHostCalls: return take_host_calls(table<wire::HostCalls>());
  }
  // A type of a later version: the file says what it adds, not what it changes.
}

void CaptureReader::take_meta(const wire::Meta& meta) {
  capture_.writer = text(meta.writer());
  capture_.command = text(meta.command());
}

void CaptureReader::take_devices(const wire::Devices& devices) {
  for (std::size_t i = 0; i < size_of(devices.devices()); ++i) {
    const auto& device = *devices.devices()->Get(static_cast<flatbuffers::uoffset_t>(i));
    DeviceInfo& info = capture_.devices.emplace_back();
    info.id = device.id();
    info.api = text(device.api());
    info.platform = text(device.platform());
    info.name = text(device.name());
    info.driver = text(device.driver());
    info.native = text(device.native());
    charge(sizeof(info) + info.api.size() + info.platform.size() + info.name.size() + info.driver.size() +
           info.native.size());
  }
}

void CaptureReader::take_queues(const wire::Queues& queues) {
  for (std::size_t i = 0; i < aligned(queues.queues()); ++i) {
    const auto& queue = *queues.queues()->Get(static_cast<flatbuffers::uoffset_t>(i));
    QueueInfo info;
    info.id = queue.id();
    info.handle = queue.handle();
    info.context = queue.context();
    info.device = queue.device();
    info.role = queue.role();
    info.in_order = queue.in_order();
    info.profiling = queue.profiling();
    info.default_order = static_cast<DefaultOrder>(queue.default_order());
    expect(queue.default_order() <= static_cast<std::uint8_t>(DefaultOrder::kIsDefault), "a queue of unknown order");
    charge(4 * sizeof(info));
    queues_->try_emplace(info.id, info);
  }
}

void CaptureReader::take_code(const wire::Code& code) {
  expect(code.kind() <= static_cast<std::uint8_t>(CodeKind::kBuiltin), "unknown kind of code");
  StoredCode stored;
  stored.id = code.id();
  stored.kind = static_cast<CodeKind>(code.kind());
  charge(size_of(code.bytes()) + sizeof(stored));
  if (code.bytes() != nullptr) {
    const auto* bytes = reinterpret_cast<const std::byte*>(code.bytes()->data());
    stored.bytes.assign(bytes, bytes + code.bytes()->size());
  }
  capture_.code.try_emplace(stored.id, std::move(stored));
}

void CaptureReader::take_functions(const wire::Functions& functions) {
  for (std::size_t i = 0; i < size_of(functions.functions()); ++i) {
    const auto& function = *functions.functions()->Get(static_cast<flatbuffers::uoffset_t>(i));
    FunctionInfo info;
    info.id = function.id();
    info.code = function.code();
    charge(2 * sizeof(info) + size_of(function.name()) + size_of(function.build_options()));
    info.name = text(function.name());
    info.build_options = text(function.build_options());
    capture_.functions.try_emplace(info.id, std::move(info));
  }
}

void CaptureReader::take_buffers(const wire::Buffers& buffers) {
  for (std::size_t i = 0; i < size_of(buffers.buffers()); ++i) {
    const auto& buffer = *buffers.buffers()->Get(static_cast<flatbuffers::uoffset_t>(i));
    BufferInfo info;
    info.id = buffer.id();
    info.context = buffer.context();
    info.parent = buffer.parent();
    info.offset = buffer.offset();
    info.size = buffer.size();
    info.flags = buffer.flags();
    info.is_image = buffer.is_image();
    info.is_sampler = buffer.is_sampler();
    charge(2 * sizeof(info) + aligned(buffer.description()) * 8);
    if (buffer.description() != nullptr) {
      info.description.assign(buffer.description()->begin(), buffer.description()->end());
    }
    info.address = buffer.address();
    expect(info.size <= ~std::uint64_t{0} - info.address, "a buffer reaches beyond the last address");
    capture_.buffers.try_emplace(info.id, std::move(info));
  }
}

void CaptureReader::take_contents() {
  expect(raw_.size() >= sizeof(format::ContentsHeader) &&
             raw_.size() <= sizeof(format::ContentsHeader) + format::kContentsPiece,
         "a piece of contents has the wrong size");
  format::ContentsHeader header;
  std::memcpy(&header, raw_.data(), sizeof(header));
  const std::uint64_t size = raw_.size() - sizeof(header);
  expect(header.offset <= ~std::uint64_t{0} - size, "a piece of contents lies outside its buffer");
  charge(4 * sizeof(Capture::Piece));
  capture_.contents_[header.buffer].push_back(
      {position_, header.offset, size, static_cast<std::uint32_t>(capture_.records)});
}

void CaptureReader::take_entry_points(const wire::EntryPoints& entry_points) {
  for (std::size_t i = 0; i < size_of(entry_points.entry_points()); ++i) {
    const auto& entry = *entry_points.entry_points()->Get(static_cast<flatbuffers::uoffset_t>(i));
    expect(entry.id() >= format::kFirstEntryPoint, "a host call with a reserved number");
    charge(128 + size_of(entry.name()));
    capture_.entry_points_.try_emplace(entry.id(), text(entry.name()));
  }
}

void CaptureReader::take_statistics(const wire::Statistics& statistics) {
  for (std::size_t i = 0; i < size_of(statistics.graphs()); ++i) {
    const auto& told = *statistics.graphs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    expect(told.graph() < capture_.graphs.size(), "statistics of an unknown graph");
    StoredGraph& graph = capture_.graphs[told.graph()];
    const std::size_t count = aligned(told.slots());
    expect(count <= graph.arguments_.size(), "statistics of more values than there are");
    charge(count * sizeof(SlotStatistic));
    graph.occurrences = told.occurrences();
    graph.changed = told.changed();
    graph.not_stored = told.not_stored();
    graph.statistics.clear();
    for (std::size_t s = 0; s < count; ++s) {
      const auto& slot = *told.slots()->Get(static_cast<flatbuffers::uoffset_t>(s));
      expect(slot.kind() <= static_cast<std::uint8_t>(format::SlotKind::kQueue), "a statistic of unknown kind");
      SlotStatistic copy;
      copy.node = slot.node();
      copy.index = slot.index();
      copy.kind = static_cast<format::SlotKind>(slot.kind());
      copy.numeric = slot.numeric();
      copy.changes = slot.changes();
      copy.min_delta = slot.min_delta();
      copy.max_delta = slot.max_delta();
      copy.distinct = slot.distinct();
      expect(copy.node < graph.graph_.size(), "a statistic of an unknown node");
      const OperationHeader& header = graph.graph_.operation(copy.node).header();
      const std::uint32_t bound = copy.kind == format::SlotKind::kArgument ? header.argument_count
                                  : copy.kind == format::SlotKind::kWord   ? header.word_count
                                                                           : graph.queue_count_;
      expect(copy.index < bound, "a statistic of an unknown argument");
      graph.statistics.push_back(copy);
    }
  }
}

std::vector<HistoryItem> CaptureReader::items_of(const flatbuffers::Vector<const wire::HistoryItem*>* told) const {
  std::vector<HistoryItem> items;
  items.reserve(size_of(told));
  std::vector<std::size_t> ends;  // of the loops around the item
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < size_of(told); ++i) {
    const auto& item = *told->Get(static_cast<flatbuffers::uoffset_t>(i));
    while (!ends.empty() && ends.back() == i) {
      ends.pop_back();
    }
    const std::size_t end = ends.empty() ? told->size() : ends.back();
    expect(item.body() < end - i, "a loop that is longer than what is around it");
    if (item.body() == 0) {
      expect(item.graph() < capture_.graphs.size(), "an occurrence of an unknown graph");
      expect(item.set() == format::kSetNotStored || item.set() < capture_.graphs[item.graph()].argument_sets(),
             "an occurrence with unknown arguments");
    } else {
      ends.push_back(i + item.body() + 1);
      expect(ends.size() <= format::kMaxHistoryDepth, "too many loops within loops");
    }
    expect(item.repeat() > 0 && item.repeat() <= item.total(), "an occurrence that never happened");
    HistoryItem& copy = items.emplace_back();
    copy.graph = item.graph();
    copy.set = item.set();
    copy.ended_by = item.ended_by();
    copy.body = item.body();
    copy.repeat = item.repeat();
    copy.total = item.total();
    copy.first_ns = before + static_cast<std::uint64_t>(item.first_ns());
    copy.last_ns = copy.first_ns + static_cast<std::uint64_t>(item.last_ns());
    copy.host_ns = item.host_ns();
    copy.span_ns = item.span_ns();
    before = copy.first_ns;
  }
  return items;
}

std::size_t CaptureReader::outermost(const std::vector<HistoryItem>& items) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < items.size(); i += items[i].body + std::size_t{1}) {
    ++count;
  }
  return count;
}

void CaptureReader::take_history(const wire::History& history) {
  const auto [known, is_new] = lanes_.try_emplace(history.lane());
  if (is_new) {
    charge(256);
    lane_order_.push_back(history.lane());
  }
  Lane& lane = known->second;
  expect(history.settled_before() == lane.settled_count, "a part of the lane's history is missing");
  charge((aligned(history.settled()) + aligned(history.open())) * sizeof(HistoryItem));
  const auto settled = items_of(history.settled());
  lane.settled.insert(lane.settled.end(), settled.begin(), settled.end());
  lane.settled_count += outermost(settled);
  lane.open = items_of(history.open());
}

void CaptureReader::take_host_calls(const wire::HostCalls& calls) {
  capture_.host_calls.clear();
  charge(aligned(calls.calls()) * sizeof(HostCallCount));
  for (std::size_t i = 0; i < aligned(calls.calls()); ++i) {
    const auto& call = *calls.calls()->Get(static_cast<flatbuffers::uoffset_t>(i));
    capture_.host_calls.push_back({call.entry_point(), call.cuts(), call.idle()});
  }
}

bool Capture::read_contents(ObjectId buffer, std::span<std::byte> into, std::string* error) const {
  try {
    const auto pieces = contents_.find(buffer);
    if (pieces == contents_.end()) {
      throw Refused("it holds no contents of buffer " + std::to_string(buffer));
    }
    const RecordFile source(file);
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

std::optional<Capture> read_capture(const std::string& file, std::string* error) noexcept {
  try {
    try {
      return CaptureReader(file).read();
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
