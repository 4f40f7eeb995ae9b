#include "replay/profile/profile_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "replay/engine_test_support.h"
#include "replay/graph/graph_variants.h"
#include "test/support/scratch_folder.h"

namespace refrain::replay {
namespace {

constexpr int kLength = 40;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Without the gate, so that nothing depends on how fast the test runs.
env::Settings with_profile(const std::string& name) {
  env::Settings settings = test::quiet(false);
  settings.profile = name;
  return settings;
}

/// A run of a program; where it is right, its results are those without Refrain. Returns how much was replayed.
std::uint64_t run(const std::string& profile, int iterations) {
  test::Rig rig(with_profile(profile), true);
  test::Program program(*rig.engine, rig.backend, rig.queue);
  for (int i = 0; i < iterations; ++i) {
    test::loop(rig, program, 1, kLength, test::constant);
  }
  const std::uint64_t replayed = rig.report()["replayed"];
  CHECK(rig.backend.log() == program.submitted);
  rig.engine->shut_down();
  return replayed;
}

LaneProfile lane(std::uint64_t number) {
  LaneProfile made;
  made.number = number;
  made.patterns.patterns.push_back({{1, 2, 3}, {Cut::kNone, Cut::kNone, Cut::kWait}, true, true, 0, 0});
  return made;
}

/// What a process with this file finds in it.
bool finds(const std::string& name, const std::string& device = "a", const std::string& driver = "1") {
  ProfileFile file(with_profile(name));
  file.read(device, driver);
  return file.take(1).has_value();
}

void write(const std::string& name, std::uint64_t lane_number = 1, const std::string& device = "a") {
  ProfileFile file(with_profile(name));
  file.read(device, "1");
  file.keep(lane(lane_number));
  file.write({});
}

}  // namespace

TEST_CASE("With a profile the second round of a program is replayed, and without one it is not") {
  const refrain::test::ScratchFolder folder;
  const std::string name = folder.file("app.profile");
  CHECK(run(name, 2) == 0);
  CHECK(run(name, 40) > 0);
  CHECK(run(name, 3) >= kLength);
  CHECK(run("", 3) == 0);
  CHECK(folder.files().size() == 1);
  struct stat status {};
  REQUIRE(::stat(name.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
}

TEST_CASE("A program does the same with any profile: of another program, or with anything in it") {
  const refrain::test::ScratchFolder folder;
  const std::string name = folder.file("app.profile");
  run(name, 40);
  std::string why;
  const std::string right = contents(name);
  const auto profile = decoded(std::as_bytes(std::span(right)), &why);
  REQUIRE(profile.has_value());
  std::mt19937_64 random(GENERATE(range(1, 20)));
  Profile wrong = *profile;
  for (LaneProfile& each : wrong.lanes) {
    each.pace = {random() % 100'000, static_cast<std::uint32_t>(random())};
    for (KnownPatterns::Pattern& pattern : each.patterns.patterns) {
      for (int change = 0; change < 5; ++change) {
        pattern.tokens[random() % pattern.tokens.size()] = pattern.tokens[random() % pattern.tokens.size()];
        pattern.cuts[random() % pattern.cuts.size()] = static_cast<Cut>(random() % 4);
      }
      pattern.loop = random() % 2 == 0;
      pattern.inner = static_cast<std::uint32_t>(random() % 50);
    }
    each.intervals.push_back({random(), random(), random(), static_cast<std::uint32_t>(random() % 6), random(),
                              random(), random(), random(), random()});
  }
  for (GraphEntry::Known& graph : wrong.graphs) {
    graph = {graph.fingerprint, random() % 2 == 0, random(), random()};
  }
  const std::vector<std::byte> bytes = encoded(wrong);
  put(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  run(name, 20);  // checks what arrived
}

TEST_CASE("A profile of another device or driver is not used, and is written anew") {
  const refrain::test::ScratchFolder folder;
  const std::string name = folder.file("app.profile");
  write(name);
  CHECK(finds(name));
  CHECK(!finds(name, "b"));
  CHECK(!finds(name, "a", "2"));
  write(name, 1, "b");
  CHECK(finds(name, "b"));
  CHECK(!finds(name));
}

TEST_CASE("A damaged profile is not used, and is written anew") {
  const refrain::test::ScratchFolder folder;
  const std::string name = folder.file("app.profile");
  write(name);
  std::string damaged = contents(name);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 4);
  put(name, damaged);
  CHECK(!finds(name));
  write(name);
  CHECK(finds(name));
}

TEST_CASE("What is no profile is not used, and stays") {
  const refrain::test::ScratchFolder folder;
  const std::string name = folder.file("data.csv");
  put(name, "1, 2, 3, and so on: somebody's data\n");
  write(name);
  CHECK(contents(name) == "1, 2, 3, and so on: somebody's data\n");
  CHECK(!finds(name));
  const std::string fifo = folder.file("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  write(fifo);  // nothing waits for who reads it
  CHECK(std::filesystem::is_fifo(fifo));
  write(folder.path());
  CHECK(std::filesystem::is_directory(folder.path()));
}

TEST_CASE("A process that is ended while its threads are dormant has the profile that they left before") {
  const refrain::test::ScratchFolder folder;
  env::Settings settings = test::quiet(true);
  settings.profile = folder.file("app.profile");
  settings.trial_budget_permille = 1000;
  settings.dormant_after = 500;
  test::Rig rig(settings);
  rig.backend.enqueue_cost_ns = 300'000;  // never pays
  test::Program program(*rig.engine, rig.backend, rig.queue);
  int waits = 0;
  for (; waits < 60 && !rig.engine->lane().is_dormant(); ++waits) {  // after 64 it is left all the same
    test::loop(rig, program, 1, 100, test::constant);
  }
  REQUIRE(rig.engine->lane().is_dormant());
  CHECK(folder.files().empty());
  rig.engine->write_out();  // as where a signal ends it
  const std::string written = contents(settings.profile);
  CHECK(is_profile(std::as_bytes(std::span(written))));
}

TEST_CASE("Where no profile can be written, nothing is left behind") {
  const refrain::test::ScratchFolder folder;
  write(folder.file("missing/app.profile"));
  CHECK(folder.files().empty());
}

TEST_CASE("What a run has not seen stays in the profile") {
  const refrain::test::ScratchFolder folder;
  const std::string name = folder.file("app.profile");
  write(name, 1);
  write(name, 2);
  ProfileFile file(with_profile(name));
  file.read("a", "1");
  CHECK(file.take(1).has_value());
  CHECK(file.take(2).has_value());
}

TEST_CASE("No profile is used or written where nothing is replayed, or nobody wants one") {
  const refrain::test::ScratchFolder folder;
  env::Settings settings = with_profile(folder.file("app.profile"));
  settings.mode = env::Mode::kObserve;
  CHECK(!ProfileFile(settings).wanted());
  CHECK(!ProfileFile(with_profile("")).wanted());
}

}  // namespace refrain::replay
