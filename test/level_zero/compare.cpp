#include "test/level_zero/compare.h"

#include <catch2/catch.hpp>

namespace run_program {

void same_everywhere(const Words& program, long least, const Variables& more) {
  CAPTURE(program);
  child::same_everywhere([&](const std::string& mode, int seed) { return run(program, mode, seed, more); }, least);
}

void same_both_ways(const Words& program, long least) {
  for (const char* extensions : {"", "append", "append,counter,mutable"}) {
    CAPTURE(extensions);
    same_everywhere(program, least, {{"SIM_ZE_EXTENSIONS", extensions}});
  }
}

}  // namespace run_program
