// Whatever a program submits: what the writer makes of it is read, and shown in every form, completely and equal to
// what was submitted. The input is the program.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capture/dump.h"
#include "capture/file_recorder.h"
#include "capture/reader.h"
#include "env/escape.h"
#include "replay/forecast/forecast.h"

namespace {

using namespace refrain;
using namespace refrain::capture;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "round trip: %s\n", why.c_str());
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? 0 : data_[at_++]; }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (int i = 0; i < 3; ++i) {
      number = number << 8U | byte();
    }
    return number;
  }
  std::string text() {
    std::string text(number() % 40000, static_cast<char>(byte()));
    for (std::size_t i = 0; i < 4 && i < text.size(); ++i) {
      text[i] = static_cast<char>(byte());
    }
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// One submission or host call of a lane.
struct Step {
  std::shared_ptr<const RecordBytes> record;  ///< null: a host call
  const char* call = nullptr;
};

/// What a lane did, and what of it the file has to tell.
struct Lane {
  Stream* stream = nullptr;
  std::vector<Step> steps;
  std::vector<RecordBytes> operations;
  std::vector<std::string> cut_after;  ///< per operation, the first host call behind it
};

RecordBytes within_limits(const RecordBytes& record) {
  if (record.size() <= format::kMaxOperationBytes) {
    return record;
  }
  RecordBytes reduced(record.begin(), record.begin() + sizeof(OperationHeader));
  auto& header = *reinterpret_cast<OperationHeader*>(reduced.data());
  header.size = sizeof(header);
  header.kind = OperationKind::kOther;
  header.word_count = header.argument_count = header.wait_count = 0;
  header.value_bytes = 0;
  return reduced;
}

class Program {
 public:
  Program(Input& input, Recorder& recorder) : input_(input), recorder_(recorder) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      lanes[i].stream = &recorder.open_stream(i + 1);
    }
  }

  void run() {
    while (!input_.empty()) {
      Lane& lane = lanes[input_.byte() % 2];
      switch (input_.byte() % 12) {
        case 0: add_call(lane); break;
        case 1: repeat(lane); break;
        case 2: add_function(); break;
        case 3: add_buffer(); break;
        case 4: recorder_.flush(); break;
        case 5: add_queue(); break;
        case 6: submit(lane, large()); break;
        case 7: add_contents(); break;
        default: submit(lane, operation(lane)); break;
      }
    }
  }

  Lane lanes[2];
  std::map<FunctionId, FunctionInfo> functions;
  std::map<ObjectId, BufferInfo> buffers;
  std::map<ObjectId, std::vector<std::byte>> contents;

 private:
  void step(Lane& lane, const Step& step) {
    if (step.record == nullptr) {
      lane.stream->host_call(step.call, 0);
      if (!lane.cut_after.empty() && lane.cut_after.back().empty()) {
        lane.cut_after.back() = step.call;
      }
    } else {
      RecordBytes record = *step.record;
      auto& header = *reinterpret_cast<OperationHeader*>(record.data());
      header.sequence = lane.operations.size() + 1;
      const OperationView view(record.data());
      if (!OperationView::well_formed(std::as_bytes(std::span(record)))) {
        fail("the target makes records that are not well formed");
      }
      lane.stream->operation(view);
      lane.operations.push_back(within_limits(record));
      const OperationView kept(lane.operations.back().data());
      lane.cut_after.push_back(kept.has(kBlocking) ? "blocking " + std::string(name_of(kept.kind())) : "");
      bytes_ += record.size();
    }
  }

  [[nodiscard]] bool full(const Lane& lane) const {
    return bytes_ > (std::size_t{6} << 20U) || lane.steps.size() > 3000;
  }

  void take(Lane& lane, const Step& made) {
    if (!full(lane)) {
      step(lane, made);
      lane.steps.push_back(made);
    }
  }

  void add_call(Lane& lane) {
    static constexpr const char* names[] = {"clFinish", "clWaitForEvents", "cuStreamSynchronize", "x"};
    take(lane, {nullptr, names[input_.byte() % 4]});
  }

  void submit(Lane& lane, RecordBytes record) {
    take(lane, {std::make_shared<const RecordBytes>(std::move(record)), nullptr});
  }

  void repeat(Lane& lane) {
    const std::size_t length = std::min<std::size_t>(1 + input_.byte(), lane.steps.size());
    const std::size_t first = lane.steps.size() - length;
    for (std::size_t turn = input_.byte(); turn > 0 && !full(lane); --turn) {
      for (std::size_t i = 0; i < length; ++i) {
        take(lane, Step(lane.steps[first + i]));
      }
    }
  }

  RecordBytes operation(const Lane& lane) {
    RecordBytes record;
    OperationWriter writer(record);
    const auto kind = static_cast<OperationKind>(input_.byte() % 3 == 0 ? input_.byte() % kOperationKindCount : 1);
    OperationHeader& header = writer.begin(kind, input_.byte());
    header.queue = 1 + input_.byte() % 5;
    header.function = kind == OperationKind::kKernel ? input_.byte() % 4 : 0;
    header.flags = static_cast<std::uint16_t>(input_.byte() % 16 == 0 ? input_.byte() % 16 : 0);
    header.time_ns = input_.number();
    header.host_ns = input_.byte();
    const int fixed = word_count_of(kind);
    for (int i = 0, words = fixed >= 0 ? fixed : input_.byte() % 20; i < words; ++i) {
      writer.word(input_.byte());
    }
    for (int i = input_.byte() % 4; i > 0; --i) {
      const auto its_kind = static_cast<ArgumentKind>(input_.byte() % 9);
      if (its_kind == ArgumentKind::kLocalMemory) {
        writer.argument_local(input_.byte());
        continue;
      }
      const std::vector<std::byte> value(its_kind == ArgumentKind::kValue ? input_.byte() % 40 : 8,
                                         static_cast<std::byte>(input_.byte()));
      writer.argument(its_kind, input_.byte(), value);
    }
    for (int i = input_.byte() % 3; i > 0; --i) {
      const std::uint64_t back = input_.byte();
      const std::uint64_t own = lane.operations.size() + 1;
      writer.wait(back < own && back != 0 ? kInternalWait | (own - back) : back);
    }
    writer.finish();
    return record;
  }

  RecordBytes large() {
    RecordBytes record;
    OperationWriter writer(record);
    writer.begin(OperationKind::kOther, input_.byte()).queue = 1;
    for (std::uint64_t i = input_.number() % 1000; i > 0; --i) {
      writer.word(i);
    }
    const std::vector<std::byte> value((input_.number() % 64) * 40000, static_cast<std::byte>(input_.byte()));
    writer.argument(ArgumentKind::kValue, 0, value);
    writer.finish();
    return record;
  }

  void add_function() {
    FunctionInfo info{input_.byte() % std::uint64_t{8}, input_.byte(), input_.text(), input_.text()};
    recorder_.define(info);
    functions.try_emplace(info.id, info);
  }

  void add_buffer() {
    BufferInfo info;
    info.id = input_.byte();
    info.size = input_.number() << (input_.byte() % 64);
    info.address = input_.number() << (input_.byte() % 64);
    info.is_image = input_.byte() % 2 != 0;
    info.description.resize(input_.byte(), input_.byte());
    recorder_.define(info);
    buffers.try_emplace(info.id, info);
  }

  void add_queue() {
    QueueInfo queue;
    queue.id = 1 + input_.byte() % 4;
    queue.in_order = input_.byte() % 2 != 0;
    queue.default_order = static_cast<DefaultOrder>(queue.in_order ? input_.byte() % 3 : 0);
    recorder_.define(queue);
    DeviceInfo device;
    device.id = input_.byte();
    device.name = input_.text();
    recorder_.define(device);
  }

  void add_contents() {
    const std::vector<std::byte> bytes((input_.number() % 64) << 14U, static_cast<std::byte>(input_.byte()));
    recorder_.code({input_.byte(), CodeKind::kSource, bytes});
    const ObjectId buffer = input_.byte();
    recorder_.contents(buffer, bytes);
    contents.try_emplace(buffer, bytes);
  }

  Input& input_;
  Recorder& recorder_;
  std::size_t bytes_ = 0;
};

/// Follows the history of a lane along what was submitted.
class Follower {
 public:
  Follower(const Capture& capture, const Lane& lane) : capture_(capture), lane_(lane) {}

  void run(const LaneHistory& history) {
    history.for_each_part([&](std::span<const HistoryItem> items) { follow(items, 1); });
    if (at_ != lane_.operations.size()) {
      fail("the history ends after " + std::to_string(at_) + " operations of " +
           std::to_string(lane_.operations.size()));
    }
  }

 private:
  void follow(std::span<const HistoryItem> items, std::uint64_t turns) {
    for (std::size_t i = 0; i < items.size(); i += items[i].body + 1) {
      if (items[i].total % items[i].repeat != 0) {
        fail("a total that its repeats do not divide");
      }
      for (std::uint64_t turn = 0; turn < items[i].repeat; ++turn) {
        if (items[i].body != 0) {
          follow(items.subspan(i + 1, items[i].body), turns * items[i].repeat);
        } else {
          leaf(items[i]);
        }
      }
    }
  }

  void leaf(const HistoryItem& item) {
    const bool stored = item.set != format::kSetNotStored;
    const auto [known, is_new] = graphs_.try_emplace({item.graph, stored ? item.set : 0});
    if (is_new) {
      known->second = capture_.graphs.at(item.graph).materialise(stored ? item.set : 0);
    }
    const Graph& graph = known->second;
    for (NodeIndex node = 0; node < graph.size(); ++node, ++at_) {
      if (at_ >= lane_.operations.size()) {
        fail("the history goes on after the last operation");
      }
      const OperationView was(lane_.operations[at_].data());
      const OperationView is = graph.operation(node);
      if (was.kind() != is.kind() || was.token() != is.token() || was.header().flags != is.header().flags ||
          was.header().function != is.header().function || was.waits().size() != is.waits().size() ||
          (stored && !(same_work(was, is) && was.header().queue == is.header().queue))) {
        fail("operation " + std::to_string(at_) + " is another one");
      }
      if (node + 1 < graph.size() && !lane_.cut_after[at_].empty()) {
        fail("a host call within a graph");
      }
    }
    const auto ended_by = capture_.ended_by(item.ended_by);
    if (ended_by != "length limit" && ended_by != lane_.cut_after[at_ - 1] &&
        !(ended_by == "end of capture" && at_ == lane_.operations.size())) {
      fail("a stretch that ends with another host call");
    }
  }

  const Capture& capture_;
  const Lane& lane_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Graph> graphs_;
  std::size_t at_ = 0;
};

void check(const Capture& capture, const Program& program) {
  if (!capture.cut_short.empty()) {
    fail("the file is " + capture.cut_short);
  }
  const auto text = [](const std::string& was, const std::string& is) {
    if (env::shortened(was, format::kMaxText) != is) {
      fail("another name");
    }
  };
  for (const auto& [id, function] : program.functions) {
    text(function.name, capture.functions.at(id).name);
    text(function.build_options, capture.functions.at(id).build_options);
  }
  for (const auto& [id, buffer] : program.buffers) {
    const BufferInfo& is = capture.buffers.at(id);
    if (is.size != buffer.size || is.is_image != buffer.is_image ||
        is.description.size() != std::min(buffer.description.size(), format::kMaxDescription)) {
      fail("another buffer");
    }
  }
  for (const auto& [id, bytes] : program.contents) {
    std::vector<std::byte> is(bytes.size());
    if (!bytes.empty() && (!capture.read_contents(id, is, nullptr) || is != bytes)) {
      fail("other contents");
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Lane& lane = program.lanes[i];
    const auto history = std::find_if(capture.lanes.begin(), capture.lanes.end(),
                                      [&](const LaneHistory& found) { return found.lane == i + 1; });
    if (history != capture.lanes.end()) {
      Follower(capture, lane).run(*history);
    } else if (!lane.operations.empty()) {
      fail("a lane without history");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string file =
      (std::filesystem::temp_directory_path() / ("refrain-round-trip." + std::to_string(::getpid()))).string();
  static std::FILE* const null = std::fopen("/dev/null", "w");
  std::remove(file.c_str());
  Input input(data, size);
  FileRecorderOptions options;
  options.file = file;
  options.contents = true;
  options.timed_calls = 1000;
  options.command = input.text();
  std::string error;
  auto recorder = open_file_recorder(options, &error);
  if (recorder == nullptr) {
    fail(error);
  }
  Program program(input, *recorder);
  program.run();
  recorder = nullptr;

  const auto capture = read_capture(file, &error);
  if (!capture) {
    fail(error);
  }
  check(*capture, program);
  for (const auto format : {DumpFormat::kSummary, DumpFormat::kExplain, DumpFormat::kJson, DumpFormat::kDot,
                            DumpFormat::kTrace, DumpFormat::kGraph}) {
    if (format != DumpFormat::kGraph || !capture->graphs.empty()) {
      if (run_dump({file, format, {}, 0, refrain::replay::forecast}, null, stderr) != 0) {
        fail("a form that it cannot be shown in");
      }
    }
  }
  std::remove(file.c_str());
  return 0;
}
