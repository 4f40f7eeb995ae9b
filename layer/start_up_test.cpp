#include "layer/start_up.h"

#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>
#include <thread>

#include "layer/elf_exports.h"

namespace refrain::layer {
namespace {

TEST_CASE("a step of the start that throws has failed, whatever it throws") {
  CHECK(start_up("CUDA", [] {}));
  CHECK_FALSE(start_up("CUDA", [] { throw std::bad_alloc(); }));
  CHECK_FALSE(start_up("CUDA", [] { throw 7; }));
}

TEST_CASE("what is thrown while the loaded objects are visited reaches the caller, and the C library keeps no lock") {
  int visited = 0;
  const auto visit = [&visited](const dl_phdr_info& /*info*/) -> bool {
    ++visited;
    throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH(visit_loaded_objects(visit), "enough");
  CHECK(visited == 1);
  bool seen = false;
  std::thread([&seen] { visit_loaded_objects([&seen](const dl_phdr_info& /*info*/) { return seen = true; }); }).join();
  CHECK(seen);
}

}  // namespace
}  // namespace refrain::layer
