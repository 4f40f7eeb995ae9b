// A capture whose writer is killed is readable up to the last record, and holds all that was flushed.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "capture/reader.h"
#include "test/capture/temporary_file.h"

extern char** environ;

namespace refrain::capture {
namespace {

/// Starts the helper, kills it after `life`; returns what each lane had flushed.
std::map<std::uint64_t, std::uint64_t> run_and_kill(const std::string& file, unsigned seed,
                                                    std::chrono::microseconds life) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string seed_text = std::to_string(seed), helper = REFRAIN_KILL_HELPER, name = file;
  char* arguments[] = {helper.data(), name.data(), seed_text.data(), nullptr};
  pid_t child = 0;
  REQUIRE(::posix_spawn(&child, helper.c_str(), &actions, nullptr, arguments, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);

  std::string told;
  const auto read_some = [&] {
    char buffer[4096];
    const ssize_t got = ::read(ends[0], buffer, sizeof(buffer));
    told.append(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
    return got > 0;
  };
  REQUIRE(read_some());  // it runs: the first flush is done
  const auto end = std::chrono::steady_clock::now() + life;
  for (auto now = std::chrono::steady_clock::now(); now < end; now = std::chrono::steady_clock::now()) {
    pollfd poll{ends[0], POLLIN, 0};
    const timespec rest{0, static_cast<long>(std::chrono::nanoseconds(end - now).count())};
    if (::ppoll(&poll, 1, &rest, nullptr) > 0) {
      read_some();
    }
  }
  REQUIRE(::kill(child, SIGKILL) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));  // it did not end by itself
  while (read_some()) {
  }
  ::close(ends[0]);
  std::map<std::uint64_t, std::uint64_t> flushed;
  for (std::size_t begin = 0, line = 0; (line = told.find('\n', begin)) != std::string::npos; begin = line + 1) {
    char* rest = nullptr;
    const std::uint64_t lane = std::strtoull(told.c_str() + begin, &rest, 10);
    flushed[lane] = std::strtoull(rest, nullptr, 10);
  }
  return flushed;
}

std::int32_t scalar_of(const OperationView& operation) {
  std::int32_t value = 0;
  std::memcpy(&value, operation.value_of(2).data(), sizeof(value));
  return value;
}

}  // namespace

TEST_CASE("a killed writer leaves a readable file, 100 times") {
  std::mt19937 random(99);
  int cut_short = 0;
  std::uint64_t records = 0;
  for (unsigned round = 0; round < 100; ++round) {
    TemporaryFile file;
    const auto flushed = run_and_kill(file.name(), round, std::chrono::microseconds(random() % 60'000));
    std::string error;
    const auto capture = read_capture(file.name(), &error);
    INFO("round " << round << ": " << error);
    REQUIRE(capture.has_value());
    cut_short += capture->cut_short.empty() ? 0 : 1;
    records += capture->records;
    REQUIRE(capture->functions.size() == 3);
    std::map<std::uint64_t, std::uint64_t> read;
    for (const LaneHistory& lane : capture->lanes) {
      std::int32_t next = 1;  // as long as argument sets are stored, every submission is known by its number
      bool known = true;
      for_each_leaf(lane, [&](const HistoryItem& item) {
        const StoredGraph& graph = capture->graphs[item.graph];
        read[lane.lane] += item.total * graph.size();
        known = known && item.set != format::kSetNotStored && item.total == 1;
        if (known) {
          const Graph exact = graph.materialise(item.set);
          for (NodeIndex node = 0; node < exact.size(); ++node, ++next) {
            REQUIRE(scalar_of(exact.operation(node)) == next);
            REQUIRE(exact.operation(node).header().queue == lane.lane);
          }
        }
      });
      REQUIRE(next > 1);
    }
    for (const auto& [lane, count] : flushed) {
      REQUIRE(read[lane] >= count);
    }
  }
  std::printf("100 killed writers: %lu records read, %d files ended within a record\n", records, cut_short);
}

}  // namespace refrain::capture
