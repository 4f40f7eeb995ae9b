// What one run of a program has learnt, and the next one uses.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "test/cuda/contract.h"

using contract::Words;
using run_program::Result;
using run_program::run;

namespace {

/// A profile's file; gone at the end.
struct File {
  explicit File(const char* which) : name(child::scratch(which)) { ::unlink(name.c_str()); }
  ~File() { ::unlink(name.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::string contents() const {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& text) const { std::ofstream(name, std::ios::binary) << text; }

  std::string name;
};

Result run_with(const File& file, const Words& program, const std::string& mode = "replay") {
  return run(program, mode, 0, {{"REFRAIN_PROFILE", file.name}, {"REFRAIN_LOG_LEVEL", "debug"}});
}

bool says(const Result& result, const std::string& text) {
  return result.errors.find(text) != std::string::npos;
}

/// Milliseconds from the beginning of the process; -1: nothing was replayed.
long first_replay(const Result& result) {
  const std::string before = "the first replay comes ";
  const auto place = result.errors.find(before);
  return place == std::string::npos ? -1 : std::stol(result.errors.substr(place + before.size()));
}

}  // namespace

TEST_CASE("promise 1, same results: programs that a profile tells of", "[promise-1]") {
  for (const char* program : {"loop", "fork_join", "threads", "growing", "setters"}) {
    const File file("app.profile");
    const Result plain = run({program}, "plain");
    const Result learning = run_with(file, {program});
    CHECK(!file.contents().empty());
    const Result knowing = run_with(file, {program});
    CAPTURE(program, knowing.errors);
    CHECK(learning.output == plain.output);
    CHECK(knowing.output == plain.output);
    CHECK(knowing.exit_code == plain.exit_code);
    CHECK(says(knowing, "app.profile' is used"));
  }
}

TEST_CASE("with a profile the first replay comes at once") {
  const File file("app.profile");
  REQUIRE(run_with(file, {"loop"}).exit_code == 0);
  const Result knowing =
      child::run_until([](const Result& result) { return first_replay(result) >= 0 && first_replay(result) <= 50; },
                       [&] { return run_with(file, {"loop"}); });
  CAPTURE(knowing.errors);
  CHECK(first_replay(knowing) >= 0);
  if (!run_program::kSanitized) {
    CHECK(first_replay(knowing) <= 50);
  }
}

TEST_CASE("promise 7: a profile of another program is not used, and the program goes on", "[promise-7]") {
  const File file("app.profile");
  const Result plain = run({"fork_join"}, "plain");
  SECTION("of another thing that the same file does: it only predicts what does not come") {
    REQUIRE(run_with(file, {"loop"}).exit_code == 0);
    CHECK(run_with(file, {"fork_join"}).output == plain.output);
  }
  SECTION("damaged") {
    REQUIRE(run_with(file, {"loop"}).exit_code == 0);
    std::string damaged = file.contents();
    REQUIRE(damaged.size() > 100);
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    file.put(damaged);
    const Result result = run_with(file, {"fork_join"});
    CHECK(result.output == plain.output);
    CHECK(says(result, "app.profile' is not used: it is damaged"));
    CHECK(file.contents() != damaged);
  }
  SECTION("no profile at all: it stays") {
    file.put("somebody's data");
    const Result result = run_with(file, {"fork_join"});
    CHECK(result.output == plain.output);
    CHECK(says(result, "app.profile' is not used"));
    CHECK(file.contents() == "somebody's data");
  }
}

TEST_CASE("promise 7: where no profile can be written there is one warning", "[promise-7]") {
  const Result plain = run({"loop"}, "plain");
  const Result result = run({"loop"}, "replay", 0, {{"REFRAIN_PROFILE", "/proc/missing/app.profile"}});
  CHECK(result.output == plain.output);
  CHECK(result.exit_code == plain.exit_code);
  const auto first = result.errors.find("is not written");
  REQUIRE(first != std::string::npos);
  CHECK(result.errors.find("is not written", first + 1) == std::string::npos);
}

TEST_CASE("a child that the program forks leaves the profile to its parent") {
  const File file("app.profile");
  const Result plain = run({"forks"}, "plain");
  CHECK(run_with(file, {"forks"}).output == plain.output);
  CHECK(run_with(file, {"forks"}).output == plain.output);
}
