#include "replay/bench/extract.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "test/backends/record_maker.h"
#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"
#include "test/support/scratch_folder.h"

namespace refrain::replay {
namespace {

using capture::Capture;

constexpr std::size_t kBytes = 256;

/// A solver with two kernels and three buffers, then another kernel with a fourth one; nobody uses the fifth. The
/// fourth has the contents of the first, and those are in the file once.
void record(const std::string& file) {
  const auto recorder = capture::open(file, true);
  recorder->define(capture::DeviceInfo{9, "host", "platform", "device", "1.0", "graphs", true});
  static constexpr std::string_view kSource = "code";
  for (const capture::CodeId code : {11, 12, 13}) {
    recorder->code({code, capture::CodeKind::kSource, std::as_bytes(std::span(kSource))});
    recorder->define(capture::FunctionInfo{code - 10, code, "kernel", ""});
  }
  std::vector<std::uint8_t> contents(kBytes);
  for (const capture::ObjectId buffer : {1, 2, 3, 4, 5}) {
    capture::BufferInfo info;
    info.id = buffer;
    info.size = kBytes;
    recorder->define(info);
    std::iota(contents.begin(), contents.end(), static_cast<std::uint8_t>(buffer == 4 ? 1 : buffer));
    recorder->contents(buffer, std::as_bytes(std::span(contents)));
  }
  capture::Stream& stream = recorder->open_stream(5);
  capture::heat(stream, 40);
  capture::TestRecord other;
  stream.operation(other.kernel({.function = 3, .buffers = {4}, .sequence = 45, .time_ns = 200000}));
  stream.host_call("clFinish", 300000);
}

std::vector<std::byte> bytes_of(const capture::Graph& graph) {
  std::vector<std::byte> all;
  for (capture::NodeIndex node = 0; node < graph.size(); ++node) {
    const auto bytes = graph.operation(node).bytes();
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

TEST_CASE("an extracted graph is the graph, with all of its argument sets and what it names") {
  const capture::TemporaryFile whole_file, part_file;
  record(whole_file.name());
  const Capture whole = capture::load(whole_file.name());
  REQUIRE(whole.graphs.size() == 2);
  const std::uint32_t graph = GENERATE(0U, 1U);
  const std::size_t buffers = graph == 0 ? 3 : 1, kernels = graph == 0 ? 2 : 1;

  const Extracted told = extract({whole_file.name(), part_file.name(), {graph}});
  const Capture part = capture::load(part_file.name());
  REQUIRE(part.graphs.size() == 1);
  const capture::StoredGraph& before = whole.graphs[graph];
  const capture::StoredGraph& after = part.graphs[0];
  CHECK(told.graphs == 1);
  CHECK(told.argument_sets == before.argument_sets());
  CHECK(told.kernels == kernels);
  CHECK(told.buffers == buffers);
  CHECK(told.with_contents == buffers);
  CHECK(told.bytes == std::filesystem::file_size(part_file.name()));
  CHECK(told.bytes < std::filesystem::file_size(whole_file.name()));

  REQUIRE(after.argument_sets() == before.argument_sets());
  for (std::uint32_t set = 0; set < before.argument_sets(); ++set) {
    CHECK(bytes_of(after.materialise(set)) == bytes_of(before.materialise(set)));
    CHECK(after.materialise(set).fingerprint() == before.materialise(set).fingerprint());
  }
  CHECK(part.command == whole.command);
  CHECK(part.devices == whole.devices);
  CHECK(part.functions.size() == kernels);
  CHECK(part.code.size() == kernels);
  REQUIRE(part.buffers.size() == buffers);
  for (const auto& [buffer, info] : part.buffers) {
    CHECK(info == whole.buffers.at(buffer));
    std::vector<std::byte> old(kBytes), made(kBytes);
    std::string error;
    REQUIRE(whole.read_contents(buffer, old, &error));
    REQUIRE(part.read_contents(buffer, made, &error));
    CHECK(made == old);
  }
  REQUIRE(part.lanes.size() == 1);
  CHECK(part.lanes[0].lane == 5);
  for (const capture::HistoryItem& item : part.lanes[0].items()) {
    if (item.body == 0) {
      CHECK(part.ended_by(item.ended_by) == (graph == 0 ? "clEnqueueReadBuffer" : "clFinish"));
    }
  }
}

TEST_CASE("memory that is named by address goes along") {
  const capture::TemporaryFile whole_file, part_file;
  {
    const auto recorder = capture::open(whole_file.name());
    for (const capture::ObjectId buffer : {1, 2, 3}) {
      capture::BufferInfo info;
      info.id = buffer;
      info.size = kBytes;
      info.address = 0x10000 * buffer;
      recorder->define(info);
    }
    capture::Stream& stream = recorder->open_stream(1);
    const capture::QueueInfo queue{1, 0xDEAD, 7, 8, 0, true, false};
    test::RecordMaker maker(queue);
    stream.operation(maker.make(capture::OperationKind::kPointerCopy, {8, 0}, [&](capture::OperationWriter& w) {
      w.argument_handle(capture::ArgumentKind::kPointer, 0, 0x10000 + 64);
      w.argument_handle(capture::ArgumentKind::kPointer, 0, 0x30000);
    }));
    stream.host_call("cuCtxSynchronize", 0);
  }
  CHECK(extract({whole_file.name(), part_file.name(), {0}}).buffers == 2);
  const Capture part = capture::load(part_file.name());
  CHECK(part.buffers.contains(1));
  CHECK(part.buffers.contains(3));
}

TEST_CASE("a buffer that says to be larger than any capture's contents is refused, and one of unknown size has none") {
  const capture::TemporaryFile whole_file, part_file;
  const std::uint64_t size = GENERATE(std::uint64_t{1} << 40U, std::uint64_t{0});
  {
    const auto recorder = capture::open(whole_file.name(), true);
    capture::BufferInfo info;
    info.id = 1;
    info.size = size;
    info.is_image = size == 0;
    recorder->define(info);
    const std::vector<std::byte> contents(kBytes);
    recorder->contents(1, contents);
    capture::TestRecord record;
    capture::Stream& stream = recorder->open_stream(1);
    stream.operation(record.kernel({.function = 1, .buffers = {1}, .sequence = 1}));
    stream.host_call("clFinish", 0);
  }
  if (size != 0) {
    CHECK_THROWS_WITH(extract({whole_file.name(), part_file.name(), {0}}),
                      "buffer 1 has more contents than any capture holds");
  } else {
    CHECK(extract({whole_file.name(), part_file.name(), {0}}).with_contents == 0);
  }
}

TEST_CASE("several graphs keep their order, whichever is named first") {
  const capture::TemporaryFile whole_file, part_file;
  record(whole_file.name());
  const Extracted told = extract({whole_file.name(), part_file.name(), {1, 0, 1}});
  CHECK(told.graphs == 2);
  CHECK(told.buffers == 4);
  const Capture whole = capture::load(whole_file.name());
  const Capture part = capture::load(part_file.name());
  REQUIRE(part.graphs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(part.graphs[i].graph().fingerprint() == whole.graphs[i].graph().fingerprint());
  }
}

TEST_CASE("what cannot be extracted says why, and leaves the file of that name as it was") {
  const capture::TemporaryFile whole_file, other_file;
  record(whole_file.name());
  std::ofstream(other_file.name()) << "a letter";
  const auto said = [](const ExtractOptions& options) {
    try {
      extract(options);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(said({whole_file.name(), other_file.name() + ".new", {7}}) ==
        "'" + whole_file.name() + "' has no graph 7; it has 2, numbered from 0");
  CHECK(said({whole_file.name(), other_file.name(), {0}}) ==
        "'" + other_file.name() + "' is there already, and not a capture; it stays as it is");
  CHECK(said({other_file.name(), other_file.name() + ".new", {0}}).find(other_file.name()) != std::string::npos);
  CHECK(said({whole_file.name(), "/nowhere/at/all.rfn", {0}}).find("/nowhere/at/all.rfn") != std::string::npos);
  using std::filesystem::perms;
  std::filesystem::permissions(whole_file.name(), perms::owner_read | perms::owner_write | perms::others_write);
  CHECK(said({whole_file.name(), other_file.name() + ".new", {0}}).find("--trust") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(other_file.name() + ".new"));
  const capture::TemporaryFile trusted;
  extract({whole_file.name(), trusted.name(), {0, 1}, true});
  CHECK(capture::load(trusted.name()).why_not_trusted().empty());
  std::string line;
  std::getline(std::ifstream(other_file.name()), line);
  CHECK(line == "a letter");
  // An older capture goes.
  extract({trusted.name(), whole_file.name(), {1}});
  CHECK(capture::load(whole_file.name()).graphs.size() == 1);
}

TEST_CASE("an extraction that a signal ends leaves nothing behind, and the file of that name as it was") {
  const test::ScratchFolder folder;
  const std::string whole = folder.file("whole.rfn"), part = folder.file("part.rfn");
  record(whole);
  record(part);
  for (int number : {SIGHUP, SIGINT, SIGTERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(number, SIG_DFL);
      std::thread([&] {  // when the part is there
        while (folder.files().size() < 3) {
        }
        for (;;) {  // ThreadSanitizer forgets a signal whose handler is another one before it has called it
          ::kill(::getpid(), number);
          ::usleep(10'000);
        }
      })
          .detach();
      try {
        for (;;) {
          extract({whole, part, {0, 1}});
        }
      } catch (const std::runtime_error&) {
        ::pause();  // the part is gone, and so will be the process
      }
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    CHECK(folder.files().size() == 2);
  }
  CHECK(capture::load(part).graphs.size() == 2);
}

}  // namespace
}  // namespace refrain::replay
