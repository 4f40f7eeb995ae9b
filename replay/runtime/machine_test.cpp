#include "replay/runtime/machine.h"

#include <pthread.h>
#include <sched.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

int processors_of(pid_t thread) {
  cpu_set_t set;
  return sched_getaffinity(thread, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// Of the engine's threads in this process: name → number of processors.
std::map<std::string, int> own_threads() {
  std::map<std::string, int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name.rfind("refrain-", 0) == 0) {
      found[name] = processors_of(static_cast<pid_t>(std::stol(entry.path().filename().string())));
    }
  }
  return found;
}

TEST_CASE("the engine's threads stay where the process was at first, wherever the program's thread is bound to") {
  const int at_first = processors_of(0);
  std::thread bound([at_first] {
    cpu_set_t mine;
    REQUIRE(sched_getaffinity(0, sizeof mine, &mine) == 0);
    int one = 0;
    while (!CPU_ISSET(one, &mine)) {
      ++one;
    }
    CPU_ZERO(&mine);
    CPU_SET(one, &mine);
    REQUIRE(sched_setaffinity(0, sizeof mine, &mine) == 0);
    test::Rig rig(test::quiet(false));
    test::Program program(*rig.engine, rig.backend, rig.queue);
    test::loop(rig, program, 40, 16, test::constant);
    REQUIRE(rig.report()["launches"].get<int>() > 0);
    CHECK(processors_of(0) == 1);
    auto threads = own_threads();
    for (int i = 0; i < 10'000 && threads.size() < 2; ++i) {  // they name themselves
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      threads = own_threads();
    }
    REQUIRE(threads.contains("refrain-build"));
    REQUIRE(threads.contains("refrain-watch"));
    CHECK(threads.at("refrain-build") == at_first);
    CHECK(threads.at("refrain-watch") == at_first);
  });
  bound.join();
}

TEST_CASE("what the layer has of its own begins once, with the first queue, and not behind the end", "[promise-7]") {
  test::ArithmeticBackend backend;
  test::TestHooks hooks{backend};
  Engine engine(test::quiet(false), backend, hooks, nullptr);
  CHECK(hooks.begins == 0);
  QueueSlot queues[2];
  const bool ends_first = GENERATE(false, true);
  if (ends_first) {
    engine.shut_down();
  }
  for (QueueSlot& queue : queues) {
    engine.adopt_queue(queue);
  }
  CHECK(hooks.begins == (ends_first ? 0 : 1));
}

}  // namespace
}  // namespace refrain::replay
