// Whatever is written can be read and shown, in memory that does not grow with it; what nobody writes takes no memory.
#include <malloc.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "capture/dump.h"
#include "capture/file_writer.h"
#include "env/escape.h"
#include "format_generated.h"
#include "replay/forecast/forecast.h"
#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {
namespace {

using Catch::Contains;

constexpr DumpFormat kForms[] = {DumpFormat::kSummary, DumpFormat::kGraph, DumpFormat::kJson,
                                 DumpFormat::kDot,     DumpFormat::kTrace, DumpFormat::kExplain};

struct Shown {
  int status = 0;
  std::uint64_t peak = 0;  ///< bytes that were allocated at one time
  std::string out, err;
};

/// Bytes that are allocated, and the most that ever were.
std::atomic<std::size_t> live{0}, peak{0};

Shown show(const std::string& file, DumpFormat format, bool keep = false) {
  Shown shown;
  char *out = nullptr, *err = nullptr;
  std::size_t out_size = 0, err_size = 0;
  std::FILE* out_stream = keep ? ::open_memstream(&out, &out_size) : std::fopen("/dev/null", "w");
  std::FILE* err_stream = ::open_memstream(&err, &err_size);
  const std::size_t before = live;
  peak = before;
  shown.status = run_dump({file, format, {}, 0, replay::forecast}, out_stream, err_stream);
  shown.peak = peak - before;
  std::fclose(out_stream);
  std::fclose(err_stream);
  shown.out.assign(out == nullptr ? "" : out, out_size);
  shown.err.assign(err, err_size);
  std::free(out);
  std::free(err);
  return shown;
}

std::uint64_t bound(const std::string& file) {
  return format::max_memory(std::filesystem::file_size(file));
}

void write_records(const std::string& file,
                   const std::vector<std::pair<format::RecordType, std::vector<std::uint8_t>>>& records) {
  std::filesystem::remove(file);
  FileWriter writer;
  std::string error;
  REQUIRE(writer.open(file, 0600, &error));
  for (const auto& [type, payload] : records) {
    INFO(error);
    REQUIRE(writer.append(type, payload, &error));
  }
}

std::vector<std::uint8_t> finished(flatbuffers::FlatBufferBuilder& builder) {
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// One record of many graphs of one node each; all name the same vectors if `shared`.
std::vector<std::uint8_t> many_graphs(std::uint32_t count, std::uint32_t nodes, bool shared) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Graph>> graphs;
  const std::vector<wire::Node> told(nodes, wire::Node(1, 1, 31, 0, 0, 0, 0, 0, 0));
  flatbuffers::Offset<flatbuffers::Vector<const wire::Node*>> its_nodes;
  flatbuffers::Offset<flatbuffers::Vector<std::uint64_t>> arguments;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i == 0 || !shared) {
      its_nodes = builder.CreateVectorOfStructs(told);
      arguments = builder.CreateVector(std::vector<std::uint64_t>{1});
    }
    graphs.push_back(wire::CreateGraph(builder, i, 0, 1, its_nodes, 0, arguments));
  }
  builder.Finish(wire::CreateGraphsDirect(builder, &graphs));
  return finished(builder);
}

}  // namespace

TEST_CASE("a graph whose reasons make no sense is refused") {
  const auto problem_of = [](std::uint64_t told, const std::vector<std::uint16_t>& reasons) {
    TemporaryFile file;
    std::vector<std::uint8_t> definitions;
    const ReasonInfo info{told, "its stream is marked"};
    encode_definitions(std::span<const ReasonInfo>(&info, 1),
                       [&](format::RecordType, std::span<const std::uint8_t> payload) {
                         definitions.assign(payload.begin(), payload.end());
                       });
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<wire::Node> nodes(2, wire::Node(1, 1, 31, kAtOnce, 0, 0, 0, 0, 0));
    const std::vector<std::uint64_t> arguments{1};
    const std::vector<flatbuffers::Offset<wire::Graph>> graphs{
        wire::CreateGraphDirect(builder, 0, 0, 1, &nodes, nullptr, &arguments, nullptr, &reasons)};
    builder.Finish(wire::CreateGraphsDirect(builder, &graphs));
    write_records(file.name(),
                  {{format::RecordType::kReasons, definitions}, {format::RecordType::kGraphs, finished(builder)}});
    std::string error;
    static_cast<void>(read_capture(file.name(), &error));
    return error;
  };
  CHECK(problem_of(3, {}).empty());
  CHECK(problem_of(3, {0, 3}).empty());
  CHECK_THAT(problem_of(3, {3}), Contains("reasons of more or fewer nodes than it has"));
  CHECK_THAT(problem_of(3, {0, 2}), Contains("a node with a reason that is not told"));
  CHECK_THAT(problem_of(0x10002, {0, 2}), Contains("a node with a reason that is not told"));
}

TEST_CASE("300 stretches of 1000 launches are shown in every form, in memory for one of them") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    describe_program(*recorder);
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    std::uint64_t sequence = 0;
    for (std::uint64_t stretch = 0; stretch < 300; ++stretch) {
      for (std::uint64_t launch = 0; launch < 1000; ++launch) {
        stream.operation(record.kernel({.function = 1 + launch % 3,
                                        .buffers = {1, 2, 3, 4},
                                        .scalars = {1, 2, 3, 4, 5, 6, 7, 8},
                                        .global = 1024 + stretch,
                                        .sequence = ++sequence}));
      }
      // Each stretch is another graph.
      for (std::uint64_t more = 0; more <= stretch % 20; ++more) {
        stream.operation(record.other(1000 + stretch, OperationKind::kMarker, 0, ++sequence));
      }
      stream.host_call("clFinish", 1000 * sequence);
    }
  }
  CHECK(submissions(load(file.name())) >= 300'000);
  for (const DumpFormat form : kForms) {
    const Shown shown = show(file.name(), form);
    INFO("form " << static_cast<int>(form) << ": " << shown.err);
    CHECK(shown.status == 0);
    CHECK(shown.err.empty());
    std::printf("form %d of %lu KiB: %.1f MiB\n", static_cast<int>(form),
                static_cast<unsigned long>(std::filesystem::file_size(file.name()) >> 10U),
                static_cast<double>(shown.peak) / (1U << 20U));
    CHECK(shown.peak < std::uint64_t{64} << 20U);  // with all instances that replay would have
  }
  const Shown json = show(file.name(), DumpFormat::kJson, true);
  const auto parsed = nlohmann::json::parse(json.out);
  CHECK(parsed["graphs"].size() == load(file.name()).graphs.size());
  CHECK(parsed["lanes"][0]["history"].size() == 300);
}

TEST_CASE("operations and stretches of any size are written so that they can be read") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    Stream& stream = recorder->open_stream(1);
    RecordBytes bytes;
    const auto submit = [&](std::size_t value_bytes) {
      bytes.clear();
      OperationWriter writer(bytes);
      writer.begin(OperationKind::kOther, 5).queue = 1;
      writer.argument(ArgumentKind::kValue, 0, std::vector<std::byte>(value_bytes, std::byte{7}));
      writer.finish();
      stream.operation(OperationView(bytes.data()));
    };
    for (int i = 0; i < 200; ++i) {
      submit(std::size_t{512} << 10U);  // 100 MiB without a host call
    }
    submit(std::size_t{3} << 20U);  // alone more than may be told
    stream.host_call("clFinish", 0);
  }
  const Capture capture = load(file.name());
  CHECK(submissions(capture) == 201);
  bool reduced = false;
  for (const StoredGraph& graph : capture.graphs) {
    const Graph read = graph.graph();
    for (NodeIndex node = 0; node < read.size(); ++node) {
      reduced = reduced || read.operation(node).arguments().empty();
    }
  }
  CHECK(reduced);
  for (const DumpFormat form : kForms) {
    const Shown shown = show(file.name(), form);
    INFO(shown.err);
    CHECK(shown.status == 0);
    CHECK(shown.peak < bound(file.name()));
  }
}

TEST_CASE("a name that is too long is shortened, and told once") {
  TemporaryFile file;
  const std::string name = "begin" + std::string(100'000, 'x') + "end";
  const std::string entry_point(100'000, 'y');  // lives as long as the recorder that reads it
  {
    const auto recorder = open(file.name());
    describe_program(*recorder);
    recorder->define(FunctionInfo{9, 77, name, name});
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    for (int i = 0; i < 1000; ++i) {
      stream.operation(record.kernel({.function = 9, .scalars = {i}}));
    }
    stream.host_call(entry_point.c_str(), 0);
  }
  const Capture capture = load(file.name());
  const std::string kept = capture.functions.at(9).name;
  CHECK(kept.size() <= format::kMaxText);
  CHECK_THAT(kept, Contains("[+8") && Contains(" bytes]"));
  for (const DumpFormat form : kForms) {
    const Shown shown = show(file.name(), form, true);
    CHECK(shown.status == 0);
    CHECK(shown.out.size() < 1'000'000);
    std::size_t times = 0;
    for (std::size_t at = shown.out.find(kept); at != std::string::npos; at = shown.out.find(kept, at + 1)) {
      ++times;
    }
    CHECK(times <= (form == DumpFormat::kJson ? 2 : 1));  // there the build options are told as well
  }
}

TEST_CASE("the reader refuses names longer than the writer's") {
  const auto read = [](std::size_t bytes) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<wire::Function>> list{
        wire::CreateFunctionDirect(builder, 1, 1, std::string(bytes, 'n').c_str(), "")};
    builder.Finish(wire::CreateFunctionsDirect(builder, &list));
    TemporaryFile file;
    write_records(file.name(), {{format::RecordType::kFunctions, finished(builder)}});
    std::string error;
    const bool good = read_capture(file.name(), &error).has_value();
    CHECK((good || error.find("a name is longer than names may be") != std::string::npos));
    return good;
  };
  CHECK(read(format::kMaxText));
  CHECK_FALSE(read(format::kMaxText + 1));
}

TEST_CASE("a statistic of what its node does not have is refused") {
  using format::SlotKind;
  const auto read = [](SlotKind kind, std::uint32_t index) {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<wire::SlotStatistic> slots{
        wire::SlotStatistic(0, index, 1, 0, 0, 2, static_cast<std::uint8_t>(kind), false)};
    std::vector<flatbuffers::Offset<wire::GraphStatistics>> list{
        wire::CreateGraphStatisticsDirect(builder, 0, 2, 1, 0, &slots)};
    builder.Finish(wire::CreateStatisticsDirect(builder, &list));
    TemporaryFile file;
    // One node of no words and no arguments in one queue.
    write_records(file.name(), {{format::RecordType::kGraphs, many_graphs(1, 1, false)},
                                {format::RecordType::kStatistics, finished(builder)}});
    const Capture capture = load(file.name());
    try {
      return capture.graphs[0].statistics().size() == 1;
    } catch (const Refused& refused) {
      CHECK_THAT(refused.what(), Contains("a statistic of an unknown argument"));
      return false;
    }
  };
  CHECK(read(SlotKind::kQueue, 0));
  CHECK_FALSE(read(SlotKind::kQueue, 1));
  CHECK_FALSE(read(SlotKind::kArgument, 0));
  CHECK_FALSE(read(SlotKind::kWord, 0));
}

TEST_CASE("times that cannot be are refused") {
  struct Forged {
    std::uint16_t what = 0;
    std::uint16_t kind = 0;
    std::uint32_t entry_point = 0;
    std::uint32_t took_ns = 5;
    std::size_t ends = 1;
    std::uint64_t begin_ns = 1000;
  };
  const auto read = [](const Forged& forged) {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<wire::CallKind> kinds{wire::CallKind(1, 2, forged.entry_point, forged.kind, 0)};
    const std::vector<std::uint16_t> what{forged.what};
    const std::vector<std::uint32_t> after{7}, took(forged.ends, forged.took_ns);
    builder.Finish(wire::CreateTimesDirect(builder, 1, forged.begin_ns, &kinds, &what, &after, &took, nullptr));
    TemporaryFile file;
    write_records(file.name(), {{format::RecordType::kTimes, finished(builder)}});
    std::string error;
    const auto capture = read_capture(file.name(), &error);
    return capture ? std::to_string(capture->calls.at(0).end_ns) : error;
  };
  CHECK(read({}) == "1012");
  CHECK_THAT(read({.what = 1}), Contains("a call of an unknown kind"));
  CHECK_THAT(read({.kind = kOperationKindCount}), Contains("a call of an unknown kind"));
  CHECK_THAT(read({.entry_point = 40}), Contains("an unknown host call"));
  CHECK_THAT(read({.took_ns = ~0U}), Contains("a long call whose time is missing"));
  CHECK_THAT(read({.ends = 2}), Contains("calls without begin or end"));
  CHECK_THAT(read({.begin_ns = ~std::uint64_t{0}}), Contains("a call at a time that cannot be"));
}

TEST_CASE("a file that is another one while it is shown is noticed") {
  TemporaryFile file, other;
  write_records(file.name(), {{format::RecordType::kGraphs, many_graphs(2, 1, false)}});
  write_records(other.name(), {{format::RecordType::kGraphs, many_graphs(1, 1, false)}});
  const Capture capture = load(file.name());
  REQUIRE(capture.graphs.size() == 2);
  std::filesystem::copy_file(other.name(), file.name(), std::filesystem::copy_options::overwrite_existing);
  CHECK(capture.graphs[0].graph().size() == 1);
  CHECK_THROWS_WITH(capture.graphs[1].graph(), Contains("it was changed since it was opened"));
}

TEST_CASE("a small file takes little memory, whatever it claims") {
  TemporaryFile file;
  const auto check = [&](const char* what, const std::function<void()>& write) {
    write();
    CAPTURE(what, std::filesystem::file_size(file.name()));
    for (const DumpFormat form : kForms) {
      const Shown shown = show(file.name(), form);
      std::printf("%s, %lu KiB, form %d: %.1f MiB\n", what,
                  static_cast<unsigned long>(std::filesystem::file_size(file.name()) >> 10U), static_cast<int>(form),
                  static_cast<double>(shown.peak) / (1U << 20U));
      CHECK((shown.status == 0 || !shown.err.empty()));
      CHECK(shown.peak < bound(file.name()));
    }
  };
  using format::RecordType;
  check("a long name that is used in every node, told many times", [&] {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString(std::string(16000, 'n'));
    std::vector<flatbuffers::Offset<wire::Function>> list;
    for (std::uint64_t id = 0; id < 60'000; ++id) {
      list.push_back(wire::CreateFunction(builder, id, 1, name, name));
    }
    builder.Finish(wire::CreateFunctionsDirect(builder, &list));
    write_records(file.name(), {{RecordType::kFunctions, finished(builder)}});
  });
  check("graphs that share their nodes", [&] {
    write_records(file.name(), {{RecordType::kGraphs, many_graphs(100'000, 1024, true)}});
  });
  check("as many graphs as there is room for", [&] {
    write_records(file.name(), {{RecordType::kGraphs, many_graphs(50'000, 1, false)}});
  });
  check("records that are nothing but zeros", [&] {
    std::vector<std::pair<RecordType, std::vector<std::uint8_t>>> records;
    for (int i = 0; i < 3; ++i) {
      records.emplace_back(RecordType::kCode, std::vector<std::uint8_t>(60U << 20U));
    }
    write_records(file.name(), records);
  });
  check("a history of one graph, told again and again", [&] {
    std::vector<std::pair<RecordType, std::vector<std::uint8_t>>> records{
        {RecordType::kGraphs, many_graphs(1, 1024, true)}};
    for (std::uint64_t part = 0; part < 40; ++part) {
      flatbuffers::FlatBufferBuilder builder;
      const std::vector<wire::HistoryItem> items(50'000, wire::HistoryItem(0, 0, 0, 0, 1, 1, 1, 1, 1, 1));
      builder.Finish(wire::CreateHistoryDirect(builder, 1, part * items.size(), &items, nullptr));
      records.emplace_back(RecordType::kHistory, finished(builder));
    }
    write_records(file.name(), records);
  });
}

TEST_CASE("a refusal says how much it would be, and what to do") {
  TemporaryFile file;
  std::vector<std::pair<format::RecordType, std::vector<std::uint8_t>>> records;
  for (std::uint64_t part = 0; part < 40; ++part) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<wire::Buffer>> list;
    for (std::uint64_t i = 0; i < 50'000; ++i) {
      list.push_back(wire::CreateBuffer(builder, part * 50'000 + i));
    }
    builder.Finish(wire::CreateBuffersDirect(builder, &list));
    records.emplace_back(format::RecordType::kBuffers, finished(builder));
  }
  write_records(file.name(), records);
  std::string error;
  CHECK_FALSE(read_capture(file.name(), &error, std::uint64_t{100} << 20U));
  CHECK_THAT(error, Contains("it would take more than 100 MiB of memory") && Contains("--max-memory-mb"));
  CHECK(read_capture(file.name(), &error, std::uint64_t{4} << 30U).has_value());
}

TEST_CASE("nothing in a capture reaches the terminal as it is") {
  TemporaryFile file;
  const std::string evil =
      "\033]0;pwned\a\r\n\xc2\x9b"
      "31mred\xff\u202e\"}\\";
  {
    FileRecorderOptions options;
    options.file = file.name();
    options.command = "./prog " + evil;
    std::string error;
    const auto recorder = open_file_recorder(options, &error);
    REQUIRE(recorder != nullptr);
    DeviceInfo device;
    device.id = 1;
    device.api = device.platform = device.name = device.driver = device.native = evil;
    recorder->define(device);
    recorder->define(FunctionInfo{1, 1, evil, evil});
    const std::uint16_t reason = recorder->reason(evil.c_str());
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    for (int i = 0; i < 3; ++i) {
      stream.operation(record.kernel({.function = 1, .scalars = {i}}));
      stream.operation(record.told(OperationKind::kOther, kAtOnce, reason));
      stream.host_call(evil.c_str(), 0);
    }
  }
  for (const DumpFormat form : kForms) {
    const Shown shown = show(file.name(), form, true);
    CHECK(shown.status == 0);
    std::string text = shown.out;
    std::erase(text, '\n');
    CHECK(env::escaped(text) == text);
    if (form == DumpFormat::kJson || form == DumpFormat::kTrace) {
      CHECK(nlohmann::json::accept(shown.out));
    }
  }
  const Shown missing = show("/nonexistent" + evil, DumpFormat::kSummary);
  CHECK(missing.status == 1);
  CHECK_THAT(missing.err, Contains("\\x1b]0;pwned\\x07\\r\\n\\x9b31mred\\xff\\u202e"));
}

}  // namespace refrain::capture

// All of the test program's allocations are counted.
void* operator new(std::size_t bytes) {
  using namespace refrain::capture;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  const std::size_t now = live += ::malloc_usable_size(memory);
  for (std::size_t most = peak; now > most && !peak.compare_exchange_weak(most, now);) {
  }
  return memory;
}
// A sanitizer's own form does not call the one above.
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  refrain::capture::live -= ::malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  ::operator delete(memory);
}
