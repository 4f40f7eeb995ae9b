#include "capture/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "format_generated.h"

namespace refrain::capture {
namespace {

using format::RecordType;

/// What is wrong with the file; the message names the place.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class File {
 public:
  explicit File(const std::string& name)
      : descriptor_(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
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
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Reads `bytes` bytes or, if the file has become shorter, fewer.
  std::size_t read(std::uint64_t position, void* into, std::size_t bytes) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(descriptor_, static_cast<char*>(into) + done, bytes - done,
                                  static_cast<off_t>(position + done));
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

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

enum class Found { kRecord, kEnd, kCutShort, kDamaged };

/// Reads and checks record `number` at `position`.
Found read_record(const File& file, std::uint64_t position, std::uint32_t number,
                  format::RecordHeader& header, std::vector<std::byte>& stored) {
  const std::uint64_t rest = file.size() - std::min(position, file.size());
  if (rest == 0) {
    return Found::kEnd;
  }
  if (rest < sizeof(header) || file.read(position, &header, sizeof(header)) != sizeof(header)) {
    return Found::kCutShort;
  }
  if (header.number != number || header.stored_size > format::kMaxRecordBytes ||
      header.raw_size > format::kMaxRecordBytes || header.stored_size > header.raw_size) {
    return Found::kDamaged;
  }
  if (rest - sizeof(header) < header.stored_size) {
    return Found::kCutShort;
  }
  stored.resize(header.stored_size);
  if (file.read(position + sizeof(header), stored.data(), stored.size()) != stored.size()) {
    return Found::kCutShort;
  }
  return header.checksum == format::checksum_of(header, stored) ? Found::kRecord : Found::kDamaged;
}

/// Decompresses; false if the data is not what the header says.
bool unpack(const format::RecordHeader& header, const std::vector<std::byte>& stored,
            std::vector<std::byte>& raw) {
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

std::string text(const flatbuffers::String* string) {
  return string != nullptr ? string->str() : std::string();
}

template <typename T>
std::size_t size_of(const T* vector) {
  return vector != nullptr ? vector->size() : 0;
}

}  // namespace

/// Takes the records of one file. Not in the unnamed namespace: the model's classes are its friends.
class CaptureReader {
 public:
  explicit CaptureReader(const std::string& name) : file_(name) { capture_.file = name; }

  Capture read();

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Refused("the record at offset " + std::to_string(position_) + " makes no sense: " + why);
  }
  void expect(bool condition, const char* why) const {
    if (!condition) {
      refuse(why);
    }
  }
  /// Counts memory that the model takes because of this file.
  void charge(std::uint64_t bytes) {
    budget_used_ += bytes;
    expect(budget_used_ <= budget_, "it would take more memory than a file of this size may");
  }
  template <typename Table>
  const Table& table() const {
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(raw_.data()), raw_.size(), 16,
                                   1U << 22U);
    expect(verifier.VerifyBuffer<Table>(nullptr), "its fields are not where they should be");
    return *flatbuffers::GetRoot<Table>(raw_.data());
  }

  /// Number of elements. The verifier does not look at where in memory 8-byte elements begin.
  template <typename Vector>
  std::size_t aligned(const Vector* vector) const {
    if (vector == nullptr || vector->size() == 0) {
      return 0;
    }
    expect(reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(std::uint64_t) == 0,
           "its fields are not where they should be");
    return vector->size();
  }

  void read_header();
  void take(RecordType type);
  void take_meta(const wire::Meta& meta);
  void take_devices(const wire::Devices& devices);
  void take_queues(const wire::Queues& queues);
  void take_code(const wire::Code& code);
  void take_functions(const wire::Functions& functions);
  void take_buffers(const wire::Buffers& buffers);
  void take_contents();
  void take_entry_points(const wire::EntryPoints& entry_points);
  void take_graph(const wire::Graph& graph);
  void take_set(const wire::ArgumentSet& set);
  void take_statistics(const wire::Statistics& statistics);
  void take_history(const wire::History& history);
  void take_host_calls(const wire::HostCalls& calls);
  void check_arguments(const StoredGraph& graph, std::span<const std::uint64_t> arguments) const;
  std::vector<HistoryItem> items_of(const flatbuffers::Vector<const wire::HistoryItem*>* items) const;
  static std::size_t outermost(const std::vector<HistoryItem>& items);

  struct Lane {
    std::vector<HistoryItem> settled, open;
    std::uint64_t settled_count = 0;  // outermost ones
  };

  File file_;
  Capture capture_;
  std::uint64_t position_ = 0;
  std::uint64_t budget_ = 0, budget_used_ = 0;
  std::vector<std::byte> stored_, raw_;
  std::shared_ptr<std::unordered_map<ObjectId, QueueInfo>> queues_ =
      std::make_shared<std::unordered_map<ObjectId, QueueInfo>>();
  std::vector<std::uint64_t> lane_order_;
  std::unordered_map<std::uint64_t, Lane> lanes_;
};

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
    capture_.cut_short = std::string(how) + " after " + std::to_string(capture_.records) +
                         " records, at offset " + std::to_string(position_) + " of " +
                         std::to_string(file_.size());
  };
  for (std::uint32_t number = 0;; ++number) {
    format::RecordHeader header;
    const Found found = read_record(file_, position_, number, header, stored_);
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

void CaptureReader::take_graph(const wire::Graph& told) {
  expect(told.id() == capture_.graphs.size(), "graphs are not numbered one after the other");
  const std::size_t nodes = aligned(told.nodes());
  expect(nodes > 0 && nodes <= format::kMaxStretch, "a graph without nodes or with too many");
  expect(told.queue_count() > 0 && told.queue_count() <= nodes, "a graph with a wrong number of queues");
  const std::uint64_t arguments = aligned(told.arguments());
  charge(sizeof(StoredGraph) + nodes * 256 + (arguments + size_of(told.waits())) * 24);

  StoredGraph graph;
  graph.id_ = told.id();
  graph.queues_ = queues_;
  graph.queue_count_ = told.queue_count();
  graph.headers_.resize(nodes * sizeof(OperationHeader));
  std::size_t waits_used = 0;
  std::uint64_t words_used = told.queue_count();
  for (std::size_t i = 0; i < nodes; ++i) {
    const wire::Node& node = *told.nodes()->Get(static_cast<flatbuffers::uoffset_t>(i));
    expect(node.kind() < kOperationKindCount && node.queue() < told.queue_count(),
           "a node of unknown kind or queue");
    expect(node.waits() <= 0xFFFF && node.waits() <= size_of(told.waits()) - waits_used,
           "a node with more waits than are stored");
    expect(node.value_bytes() % 8 == 0, "a node with values of odd size");
    const std::uint64_t comparable =
        std::uint64_t{node.words()} + std::uint64_t{node.argument_count()} * 2 + node.value_bytes() / 8;
    words_used += comparable;
    expect(words_used <= arguments, "a node with more arguments than are stored");
    OperationHeader header;
    header.size = static_cast<std::uint32_t>(sizeof(header) + (comparable + node.waits()) * 8);
    header.kind = static_cast<OperationKind>(node.kind());
    header.flags = node.flags();
    header.token = node.token();
    header.sequence = i + 1;
    header.queue = node.queue();
    header.function = node.function();
    header.word_count = node.words();
    header.argument_count = node.argument_count();
    header.wait_count = static_cast<std::uint16_t>(node.waits());
    header.value_bytes = node.value_bytes();
    std::memcpy(graph.headers_.data() + i * sizeof(header), &header, sizeof(header));
    auto& waits = graph.waits_.emplace_back();
    for (std::uint32_t w = 0; w < node.waits(); ++w) {
      const std::int32_t wait = told.waits()->Get(static_cast<flatbuffers::uoffset_t>(waits_used++));
      expect(wait >= format::kWaitsForForeign && wait < static_cast<std::int32_t>(i),
             "a node that waits for a later one");
      waits.push_back(wait == format::kWaitsForForeign ? kWaitForeign
                      : wait == format::kWaitsForEarlier
                          ? kWaitEarlier
                          : kInternalWait | (static_cast<std::uint64_t>(wait) + 1));
    }
  }
  expect(waits_used == size_of(told.waits()) && words_used == arguments,
         "a graph with parts that no node owns");
  graph.arguments_.assign(told.arguments()->begin(), told.arguments()->end());
  check_arguments(graph, graph.arguments_);
  graph.graph_ = graph.build(graph.arguments_);
  capture_.graphs.push_back(std::move(graph));
}

// The descriptors among the arguments must fit the sizes of their nodes.
void CaptureReader::check_arguments(const StoredGraph& graph,
                                    std::span<const std::uint64_t> arguments) const {
  std::vector<std::uint64_t> record;
  std::size_t place = graph.queue_count_;
  for (std::size_t node = 0; node < graph.waits_.size(); ++node) {
    OperationHeader header;
    std::memcpy(static_cast<void*>(&header), graph.headers_.data() + node * sizeof(header), sizeof(header));
    const std::size_t comparable = (header.size - sizeof(header)) / 8 - graph.waits_[node].size();
    record.assign(header.size / 8, 0);
    std::memcpy(record.data(), &header, sizeof(header));
    std::copy_n(arguments.begin() + static_cast<std::ptrdiff_t>(place), comparable,
                record.begin() + sizeof(header) / 8);
    expect(OperationView::well_formed(std::as_bytes(std::span(record))),
           "an operation that is not well formed");
    place += comparable;
  }
}

void CaptureReader::take_set(const wire::ArgumentSet& told) {
  expect(told.graph() < capture_.graphs.size(), "arguments of an unknown graph");
  StoredGraph& graph = capture_.graphs[told.graph()];
  expect(told.set() == graph.argument_sets() && told.set() < format::kMaxArgumentSets,
         "argument sets are not numbered one after the other");
  const std::size_t count = size_of(told.places());
  expect(count == aligned(told.differences()) && count <= graph.arguments_.size(),
         "an argument set with differences that belong nowhere");
  charge(count * sizeof(StoredGraph::Difference) + 64);
  std::vector<StoredGraph::Difference> differences;
  differences.reserve(count);
  std::vector<std::uint64_t> arguments = graph.arguments_;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<flatbuffers::uoffset_t>(i);
    place += told.places()->Get(index);
    expect(place < arguments.size(), "a difference outside its graph's arguments");
    differences.push_back({static_cast<std::uint32_t>(place), told.differences()->Get(index)});
    arguments[place] += differences.back().value;
  }
  check_arguments(graph, arguments);
  graph.differences_.push_back(std::move(differences));
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
      expect(slot.kind() <= static_cast<std::uint8_t>(format::SlotKind::kQueue),
             "a statistic of unknown kind");
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

std::vector<HistoryItem> CaptureReader::items_of(
    const flatbuffers::Vector<const wire::HistoryItem*>* told) const {
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
      expect(
          item.set() == format::kSetNotStored || item.set() < capture_.graphs[item.graph()].argument_sets(),
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
    const File source(file);
    std::vector<std::byte> stored, raw;
    for (const Piece& piece : pieces->second) {
      format::RecordHeader header;
      if (read_record(source, piece.position, piece.number, header, stored) != Found::kRecord ||
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
