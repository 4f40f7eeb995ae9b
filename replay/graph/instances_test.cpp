// Graphs whose arguments change or take turns: which instances are built, and which are changed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::loop;
using test::of_set;
using test::Program;
using test::quiet;
using test::Rig;

TEST_CASE("ping-pong of what cannot be changed gets graphs of its own, though other arguments can") {
  Rig rig(quiet(false), true);
  rig.backend.refuse_updates = true;
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 240, 12, [](int i, int k) { return of_set(i % 2, k); });
  REQUIRE(rig.backend.log() == program.submitted);
  CHECK(rig.report()["replayed"].get<int>() > 240 * 12 * 3 / 4);
}

TEST_CASE("arguments that take turns get instances of their own, and nothing is changed any more") {
  Rig rig(quiet(false), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto six = [](int i, int k) { return of_set(i % 6, k); };
  loop(rig, program, 500, 12, six);
  const int before = rig.backend.updates;
  CHECK(before > 0);
  loop(rig, program, 60, 12, six);
  CHECK(rig.backend.updates == before);
  REQUIRE(rig.backend.log() == program.submitted);
  CHECK(rig.report()["replayed"].get<int>() > 560 * 12 * 3 / 4);
}

TEST_CASE("a graph that cannot run right after it was changed still gets its other instances later") {
  Rig rig(quiet(false), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto six = [](int i, int k) { return of_set(i % 6, k); };
  int asked = 0;
  // Before it is changed: yes. Before it is launched: no.
  rig.backend.simultaneous = false;
  rig.backend.busy = [&asked] { return ++asked % 2 == 0; };
  loop(rig, program, 60, 12, six);
  CHECK(rig.backend.updates > 12);
  rig.backend.busy = nullptr;
  loop(rig, program, 500, 12, six);
  const int before = rig.backend.updates;
  loop(rig, program, 60, 12, six);
  CHECK(rig.backend.updates == before);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("arguments that never come back are changed in one instance") {
  Rig rig(quiet(false), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 300, 12, [](int i, int k) { return of_set(i, k); });
  REQUIRE(rig.backend.log() == program.submitted);
  const auto report = rig.report();
  CHECK(report["replayed"].get<int>() > 300 * 12 / 2);
  for (const auto& graph : report["graphs"]) {
    CHECK(graph["builds"].get<int>() <= 2);
  }
}

TEST_CASE("arguments that take turns get an instance each, however many they are") {
  Rig rig(quiet(false), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto hundred = [](int i, int k) { return of_set(i % 100, k); };
  loop(rig, program, 8000, 12, hundred);
  const int before = rig.backend.updates;
  loop(rig, program, 200, 12, hundred);
  CHECK(rig.backend.updates == before);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("where some arguments take turns and one is always new, only that one is changed") {
  constexpr int kLength = 12;
  const int turns = GENERATE(2, 3, 5);
  std::uint64_t always_new = 1'000'000;
  Rig rig(quiet(false), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto mixed = [&](int i, int k) { return k == 5 ? ++always_new : of_set(i % turns, k); };
  loop(rig, program, 300, kLength, mixed);
  const auto changed = [&] {
    int operations = 0, times = 0;
    const auto report = rig.report();
    for (const auto& graph : report["graphs"]) {
      operations += graph["changed_operations"].get<int>();
      times += graph["changed"].get<int>();
    }
    return std::pair(operations, times);
  };
  const auto before = changed();
  loop(rig, program, 300, kLength, mixed);
  const auto after = changed();
  CAPTURE(after.first - before.first, after.second - before.second);
  CHECK(after.second - before.second >= 300);
  CHECK(after.first - before.first == after.second - before.second);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("where arguments hardly come back, few instances are built, and the others are changed") {
  Rig rig(quiet(false), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  std::mt19937 random(1);
  std::uint64_t drawn = 0;
  loop(rig, program, 2000, 12, [&](int /*iteration*/, int k) {
    drawn = k == 0 ? random() % 1000 : drawn;
    return drawn * 1000 + static_cast<std::uint64_t>(k);
  });
  REQUIRE(rig.backend.log() == program.submitted);
  const auto report = rig.report();
  CHECK(report["replayed"].get<int>() > 2000 * 12 * 3 / 4);
  for (const auto& graph : report["graphs"]) {
    // An instance each for so many operations that are changed, or would be if there were only one.
    const double changed = std::max(graph["changed"].get<double>(), 1.0);
    const double launched = graph["launched"].get<double>();
    CHECK(graph["builds"].get<double>() <= 2 + graph["changed_operations"].get<double>() * launched / changed / 256);
  }
}

}  // namespace
}  // namespace refrain::replay
