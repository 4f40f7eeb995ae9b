// What programs call, in this program itself, which is its own layer.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "env/control_hooks.h"
#include "layer/refrain.h"

namespace {

thread_local std::vector<std::string> told;

std::string path_of(const refrain::env::Region* region) {
  if (region == nullptr) {
    return "";
  }
  return region->parent == nullptr ? region->name : path_of(region->parent) + "/" + region->name;
}

const RefrainLayer kLayer{[]() noexcept { told.emplace_back("start"); }, []() noexcept { told.emplace_back("stop"); },
                          []() noexcept { told.emplace_back("flush"); },
                          [](const refrain::env::Region* now) noexcept { told.push_back(path_of(now)); }};

std::vector<std::string> taken() {
  return std::exchange(told, {});
}

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("program control: layers are told, and learn what they missed") {
  CHECK(refrain_present());
  static const RefrainWish missed = [] {
    refrain_stop();  // nobody is there
    return refrain_attach(&kLayer);
  }();
  CHECK(missed == RefrainWish::kStop);
  refrain_start();
  refrain_flush();
  refrain_stop();
  refrain_start();
  CHECK(taken() == Told{"start", "flush", "stop", "start"});

  SECTION("regions lie inside one another, on each thread for itself") {
    refrain_region_begin("step");
    refrain_region_begin("forward");
    const auto* const forward = refrain_region_now();
    std::thread([] {
      CHECK(refrain_region_now() == nullptr);
      refrain_region_end();  // it never began
      refrain_region_begin("step");
      CHECK(path_of(refrain_region_now()) == "step");
    }).join();
    refrain_region_end();
    refrain_region_begin("forward");
    CHECK(refrain_region_now() == forward);
    refrain_region_end();
    refrain_region_end();
    CHECK(refrain_region_now() == nullptr);
    CHECK(taken() == Told{"step", "step/forward", "step", "step/forward", "step", ""});
  }

  SECTION("a long name is cut between two letters, and no name is a region without one") {
    std::string name(refrain::env::Region::kLongestName - 1, 'x');
    refrain_region_begin((name + "\xC3\xA4 and more").c_str());
    CHECK(taken() == Told{name});
    refrain_region_begin(nullptr);
    refrain_region_begin("inside");
    refrain_region_end();
    refrain_region_end();
    CHECK(taken().empty());
    refrain_region_end();
    CHECK(taken() == Told{""});
  }

  SECTION("threads that enter the same regions at once make one of each") {
    std::vector<std::thread> threads;
    std::vector<const refrain::env::Region*> found(8);
    for (auto& place : found) {
      threads.emplace_back([&place] {
        for (int i = 0; i < 20; ++i) {
          refrain_region_begin(("r" + std::to_string(i)).c_str());
        }
        place = refrain_region_now();
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const auto* place : found) {
      CHECK(place == found[0]);
    }
  }

  SECTION("what is never left does not get deeper for ever") {
    constexpr std::size_t kBegun = 2 * refrain::env::Region::kDeepest;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < kBegun; ++i) {
      refrain_region_begin("again");
    }
    for (const auto* region = refrain_region_now(); region != nullptr; region = region->parent) {
      ++depth;
    }
    CHECK(depth == refrain::env::Region::kDeepest);
    for (std::size_t i = 0; i < kBegun; ++i) {
      CHECK(refrain_region_now() != nullptr);
      refrain_region_end();
    }
    CHECK(refrain_region_now() == nullptr);
  }

  SECTION("too many different names belong to what is around them") {
    refrain_region_begin("around");
    const auto* const around = refrain_region_now();
    for (std::size_t i = 0; i < 2 * refrain::env::Region::kMost; ++i) {
      refrain_region_begin(("name " + std::to_string(i)).c_str());
      refrain_region_end();
    }
    CHECK(refrain_region_now() == around);
    refrain_region_begin("one more");
    CHECK(refrain_region_now() == around);
    refrain_region_end();
    refrain_region_end();
    CHECK(refrain_region_now() == nullptr);
  }
  told.clear();
}
