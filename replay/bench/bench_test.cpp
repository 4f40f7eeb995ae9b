#include "replay/bench/bench.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "capture/file_recorder.h"
#include "capture/reader.h"
#include "replay/bench/bench_report.h"
#include "test/backends/host_device.h"
#include "test/backends/record_maker.h"

namespace {

using namespace refrain;
using namespace refrain::test;
using replay::BenchOptions;

constexpr capture::QueueInfo kQueue{1, 0xDEAD, 7, 8, 0, true, false};
constexpr std::size_t kBytes = 1024;
constexpr const char* kSource =
    "__kernel void scale(__global uint* data, uint factor) { data[get_global_id(0)] *= factor; }";

class File {
 public:
  File() {
    char name[] = "/tmp/refrain_bench_XXXXXX";
    const int handle = mkstemp(name);
    REQUIRE(handle >= 0);
    close(handle);
    name_ = name;
  }
  ~File() { unlink(name_.c_str()); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// Handles of the captured process: nothing here may be used as one.
OperationView launch(RecordMaker& r, capture::FunctionId function, capture::ObjectId data, std::uint32_t factor) {
  return r.make(
      OperationKind::kKernel, {1, 0, 0, 0, kBytes / 4, 1, 1, 0, 0, 0},
      [&](OperationWriter& w) {
        w.argument_handle(ArgumentKind::kBuffer, data, 0xBAD0 + data);
        RecordMaker::value(w, factor);
      },
      0, function, 0xBAD);
}
OperationView copy(RecordMaker& r, capture::ObjectId from, capture::ObjectId to, std::uint64_t bytes = kBytes) {
  return r.make(OperationKind::kCopyBuffer, {0, 0, bytes}, [&](OperationWriter& w) {
    w.argument_handle(ArgumentKind::kBuffer, from, 0xBAD0 + from);
    w.argument_handle(ArgumentKind::kBuffer, to, 0xBAD0 + to);
  });
}
OperationView read(RecordMaker& r, capture::ObjectId from) {
  return r.make(
      OperationKind::kReadBuffer, {0, 64, 1},
      [&](OperationWriter& w) {
        w.argument_handle(ArgumentKind::kBuffer, from, 0xBAD0 + from);
        w.argument_handle(ArgumentKind::kHostPointer, 0, 0xBAD);
      },
      capture::kBlocking);
}

OperationView map(RecordMaker& r, capture::ObjectId memory) {
  return r.make(
      OperationKind::kMap, {0, kBytes, 1, 1},
      [&](OperationWriter& w) { w.argument_handle(ArgumentKind::kBuffer, memory, 0xBAD0 + memory); },
      capture::kBlocking);
}
OperationView unmap(RecordMaker& r, capture::ObjectId memory) {
  return r.make(OperationKind::kUnmap, {}, [&](OperationWriter& w) {
    w.argument_handle(ArgumentKind::kBuffer, memory, 0xBAD0 + memory);
    w.argument_handle(ArgumentKind::kHostPointer, 0, 0xBAD);
  });
}

void describe(capture::Recorder& recorder, bool contents) {
  recorder.define(capture::DeviceInfo{8, "opencl", "platform", "device", "driver", "0.9.0"});
  recorder.define(kQueue);
  const std::string source = kSource;
  recorder.code({11, capture::CodeKind::kSource, std::as_bytes(std::span(source))});
  recorder.define(capture::FunctionInfo{21, 11, "scale", ""});
  recorder.define(capture::FunctionInfo{22, 99, "lost", ""});
  for (capture::ObjectId buffer = 31; buffer <= 33; ++buffer) {
    capture::BufferInfo info;
    info.id = buffer;
    info.size = kBytes;
    info.flags = 1;
    recorder.define(info);
    std::vector<std::uint32_t> words(kBytes / 4);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = static_cast<std::uint32_t>(i * buffer + 1);
    }
    if (contents) {
      recorder.contents(buffer, std::as_bytes(std::span(words)));
    }
  }
}

// Every stretch twice; each becomes a graph.
void write_capture(const std::string& name, bool contents,
                   const std::function<std::vector<std::vector<OperationView>>(RecordMaker&)>& stretches) {
  std::string error;
  capture::FileRecorderOptions options;
  options.file = name;
  options.contents = contents;
  const auto recorder = capture::open_file_recorder(options, &error);
  REQUIRE(recorder);
  describe(*recorder, contents);
  capture::Stream& stream = recorder->open_stream(1);
  RecordMaker maker(kQueue);
  for (const auto& stretch : stretches(maker)) {
    for (int i = 0; i < 2; ++i) {
      for (const OperationView& operation : stretch) {
        stream.operation(operation);
      }
      stream.host_call("clFinish", 0);
    }
  }
}

std::string run(const BenchOptions& options, int* status, std::string* errors = nullptr) {
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  *status = replay::run_bench(options, out, err);
  const auto text_of = [](std::FILE* file) {
    std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    REQUIRE(std::fread(text.data(), 1, text.size(), file) == text.size());
    std::fclose(file);
    return text;
  };
  const std::string problems = text_of(err);
  if (errors != nullptr) {
    *errors = problems;
  }
  return text_of(out);
}

BenchOptions quick(const std::string& file) {
  BenchOptions options;
  options.file = file;
  options.repetitions = 3;
  options.warm_up = 1;
  options.json = true;
  options.quiet = true;
  return options;
}

}  // namespace

TEST_CASE("bench: graphs are rebuilt, checked and timed with every chunk size") {
  File file;
  write_capture(file.name(), true, [](RecordMaker& r) {
    return std::vector<std::vector<OperationView>>{
        {launch(r, 21, 31, 3), launch(r, 21, 31, 5), copy(r, 31, 32), launch(r, 21, 32, 7)},
        {launch(r, 21, 31, 3), copy(r, 31, 33), read(r, 33), launch(r, 21, 33, 2)},
        {unmap(r, 31), launch(r, 21, 31, 3), copy(r, 31, 33), map(r, 33)}};
  });
  auto options = quick(file.name());
  options.chunk_sizes = {0, 1, 2, 0};  // each once, whatever is asked for
  int status = 0;
  std::string errors;
  const auto text = run(options, &status, &errors);
  INFO(text << errors);
  const auto result = nlohmann::json::parse(text);
  if (!result["skipped"].empty() && result["results"].empty()) {
    WARN("no command buffers here: " << result["skipped"][0]["reason"]);
    return;
  }
  REQUIRE(status == 0);
  REQUIRE(result["results"].size() == 12);
  const auto& whole = result["results"][0];
  CHECK(whole["nodes"] == 4);
  CHECK(whole["edges"] == 3);
  CHECK(whole["parts"] == 1);
  CHECK(whole["occurrences"] == 2);
  CHECK(whole["pairs"] == 3);
  CHECK(whole["eager_us"]["median"] > 0);
  CHECK(whole["native_us"]["p10"] <= whole["native_us"]["p90"]);
  CHECK(whole["buffers_without_contents"] == 0);
  CHECK(result["results"][1]["parts"] == 4);
  CHECK(result["results"][2]["parts"] == 2);
  CHECK(result["results"][3]["nodes"] == 3);  // the read blocks: what follows is a graph of its own
  CHECK(result["results"][3]["parts"] == 2);  // and no command buffer can hold the read
  CHECK(result["results"][6]["nodes"] == 1);
  CHECK(result["results"][9]["nodes"] == 4);
  CHECK(result["results"][9]["parts"] == 3);  // what is mapped and unmapped is no part of a command buffer either

  options.json = false;
  const auto table = run(options, &status);
  CHECK(table.find("native us") != std::string::npos);
  CHECK(table.find("*:") == std::string::npos);
}

TEST_CASE("bench: what cannot be benched is listed with the reason") {
  File file;
  write_capture(file.name(), false, [](RecordMaker& r) {
    const auto pointer = r.make(OperationKind::kPointerFill, {64}, [](OperationWriter& w) {
      w.argument_handle(ArgumentKind::kPointer, 0, 0xBAD);
      RecordMaker::value(w, 1U);
    });
    const auto rect =
        r.make(OperationKind::kReadBufferRect, {0, 0, 0, 0, 0, 0, 4, 4, 1, 0, 0, 0, 0, 0}, [](OperationWriter& w) {
          w.argument_handle(ArgumentKind::kBuffer, 31, 0xBAD);
          w.argument_handle(ArgumentKind::kHostPointer, 0, 0xBAD);
        });
    return std::vector<std::vector<OperationView>>{
        {pointer},        {rect}, {launch(r, 22, 31, 1)}, {launch(r, 21, 77, 1)}, {copy(r, 31, 32, kBytes * 2)},
        {copy(r, 31, 32)}};
  });
  int status = 0;
  const auto result = nlohmann::json::parse(run(quick(file.name()), &status));
  INFO(result.dump(1));
  std::string reasons;
  for (const auto& skipped : result["skipped"]) {
    reasons += skipped["reason"].get<std::string>() + "\n";
  }
  CHECK(reasons.find("shared virtual memory") != std::string::npos);
  CHECK(reasons.find("host memory of the captured program") != std::string::npos);
  CHECK(reasons.find("does not hold the kernel's code") != std::string::npos);
  CHECK(reasons.find("does not describe the object") != std::string::npos);
  CHECK(reasons.find("eager execution failed with CL_INVALID_VALUE at node 0 (copy buffer)") != std::string::npos);
  CHECK(result["failed"].empty());
  if (!result["results"].empty()) {
    CHECK(status == 0);
    CHECK(result["results"].size() == 1);
    CHECK(result["results"][0]["buffers_without_contents"] == 2);
  }
}

TEST_CASE("bench: what others could have written is only run if it is trusted") {
  File file;
  write_capture(file.name(), true, [](RecordMaker& r) {
    return std::vector<std::vector<OperationView>>{{launch(r, 21, 31, 3), copy(r, 31, 32)}};
  });
  auto options = quick(file.name());
  int status = 0;
  std::string errors;
  const auto refused = [&](const char* why) {
    options.trust = false;
    run(options, &status, &errors);
    INFO(errors);
    CHECK(status == 2);
    CHECK(errors.find(why) != std::string::npos);
    CHECK(errors.find("--trust") != std::string::npos);
    options.trust = true;
    run(options, &status, &errors);
    CHECK(status != 2);
  };
  run(options, &status, &errors);
  CHECK(status != 2);
  for (const mode_t mode : {0620, 0602}) {
    REQUIRE(chmod(options.file.c_str(), mode) == 0);
    refused("others may write to it");
  }
  REQUIRE(chmod(options.file.c_str(), 0644) == 0);
  if (geteuid() == 0) {
    REQUIRE(chown(options.file.c_str(), 65534, 65534) == 0);
    refused("it belongs to another user (number 65534)");
  }
}

TEST_CASE("bench: a value that the kernel takes for a handle is no address that is followed") {
  File file;
  write_capture(file.name(), true, [](RecordMaker& r) {
    const auto forged = r.make(
        OperationKind::kKernel, {1, 0, 0, 0, kBytes / 4, 1, 1, 0, 0, 0},
        [&](OperationWriter& w) {
          RecordMaker::value(w, std::uint64_t{0x1});  // where the kernel has its buffer
          RecordMaker::value(w, 3U);
        },
        0, 21, 0xBAD);
    return std::vector<std::vector<OperationView>>{{forged}};
  });
  int status = 0;
  std::string errors;
  const auto text = run(quick(file.name()), &status, &errors);
  INFO(text << errors);
  CHECK(status == 3);
  CHECK((errors.find("no OpenCL") != std::string::npos || text.find("may be an address") != std::string::npos));
}

TEST_CASE("bench: wrong options and files") {
  int status = 0;
  std::string errors;
  run(quick("/nonexistent.rfn"), &status, &errors);
  CHECK(status == 2);
  CHECK(errors.find("/nonexistent.rfn") != std::string::npos);
  File file;
  write_capture(file.name(), false,
                [](RecordMaker& r) { return std::vector<std::vector<OperationView>>{{copy(r, 31, 32)}}; });
  auto options = quick(file.name());
  options.graphs = {4711};
  run(options, &status, &errors);
  CHECK(status == 2);
  CHECK(errors.find("4711") != std::string::npos);
  options = quick(file.name());
  options.device_name = "no such device";
  run(options, &status, &errors);
  CHECK(status == 3);
  CHECK(errors.find("no such device") != std::string::npos);
  options = quick(file.name());
  options.repetitions = 0;
  run(options, &status, &errors);
  CHECK(status == 2);
}

namespace {

/// Of a launch, a copy, and `more` launches on what was copied.
replay::BenchResult bench_on(HostDevice& device, std::uint32_t more = 0, bool sweep = false) {
  File file;
  write_capture(file.name(), true, [&](RecordMaker& r) {
    std::vector<OperationView> operations{launch(r, 21, 31, 3), copy(r, 31, 32)};
    for (std::uint32_t i = 0; i < more; ++i) {
      operations.push_back(launch(r, 21, 32, 5 + i));
    }
    return std::vector<std::vector<OperationView>>{operations};
  });
  std::string error;
  const auto capture = capture::read_capture(file.name(), &error);
  REQUIRE(capture);
  std::vector<const capture::StoredGraph*> graphs;
  for (const auto& graph : capture->graphs) {
    graphs.push_back(&graph);
  }
  BenchOptions options = quick(file.name());
  options.sweep = sweep;
  return replay::bench_graphs(options, *capture, graphs, device, stderr);
}

/// Multiplies by its second argument.
void add_scale(HostDevice& device) {
  device.host.add_function(21, [](const backends::host::KernelCall& call) {
    for (auto& word : call.buffer<std::uint32_t>(0)) {
      word *= call.value<std::uint32_t>(1);
    }
  });
}

std::vector<std::uint32_t> chunks_of(const replay::BenchResult& result) {
  std::vector<std::uint32_t> chunks;
  for (const replay::BenchRow& row : result.rows) {
    chunks.push_back(row.chunk);
  }
  return chunks;
}

}  // namespace

TEST_CASE("bench: a native replay with other bytes is a failure that names the first one") {
  HostDevice device;
  add_scale(device);
  const auto good = bench_on(device);
  REQUIRE(good.problems.empty());
  REQUIRE(good.rows.size() == 1);
  device.host.lose_last_of = 1;
  const auto bad = bench_on(device);
  REQUIRE(bad.rows.empty());
  REQUIRE(bad.problems.size() == 1);
  CHECK(bad.problems[0].failure);
  // Word 0 is 1 in buffer 31 and 32, and 3 after launch and copy.
  CHECK(bad.problems[0].reason.find("byte 0 of buffer 32 is 0x03 eagerly and 0x01 natively") != std::string::npos);
}

TEST_CASE("bench: programs whose result varies are listed, not blamed") {
  HostDevice device;
  std::uint32_t calls = 0;
  device.host.add_function(21,
                           [&](const backends::host::KernelCall& call) { call.buffer<std::uint32_t>(0)[0] = ++calls; });
  const auto result = bench_on(device);
  REQUIRE(result.rows.empty());
  REQUIRE(result.problems.size() == 1);
  CHECK_FALSE(result.problems[0].failure);
}

TEST_CASE("bench: a sweep doubles the chunk size until one command buffer holds all") {
  HostDevice device;
  add_scale(device);
  using Sizes = std::vector<std::uint32_t>;
  CHECK(chunks_of(bench_on(device, 0, true)) == Sizes{1, 0});
  CHECK(chunks_of(bench_on(device, 6, true)) == Sizes{1, 2, 4, 0});
  const auto nine = bench_on(device, 7, true);
  CHECK(nine.problems.empty());
  REQUIRE(chunks_of(nine) == Sizes{1, 2, 4, 8, 0});
  for (const replay::BenchRow& row : nine.rows) {
    CHECK(row.parts == (row.chunk == 0 ? 1 : (9 + row.chunk - 1) / row.chunk));
    CHECK(row.pairs == 3);
    CHECK(row.eager.median == nine.rows[0].eager.median);  // eager runs are made in turns with all sizes
    CHECK(row.fingerprint == nine.rows[0].fingerprint);
    CHECK(row.fingerprint != 0);
  }
}

TEST_CASE("bench: a chunk size that gives other bytes is named, and what was measured with smaller ones is told") {
  HostDevice device;
  add_scale(device);
  device.host.lose_last_of = 4;
  const auto result = bench_on(device, 7, true);
  CHECK(chunks_of(result) == std::vector<std::uint32_t>{1, 2});
  REQUIRE(result.problems.size() == 1);
  CHECK(result.problems[0].failure);
  CHECK(result.problems[0].reason.starts_with("chunk 4: native replay gives other bytes: "));
}
