// Work for the driver that writes down what it is asked.
#pragma once

#include <catch2/catch.hpp>

#include "test/backends/fake_driver.h"
#include "test/backends/record_maker.h"

namespace refrain::test {

inline constexpr capture::QueueInfo kInOrder{1, 0x700, 1, 1, 0, true, false};
inline constexpr capture::QueueInfo kOutOfOrder{2, 0x700, 1, 1, 0, false, false};

inline OperationView kernel(RecordMaker& maker, std::uint32_t value, std::uint64_t global = 64,
                            capture::Handle memory = 0x40) {
  return maker.make(
      OperationKind::kKernel, {2, 1, 2, 3, global, 8, 1, 4, 4, 1},
      [&](OperationWriter& w) {
        w.argument_handle(ArgumentKind::kBuffer, 0, memory);
        RecordMaker::value(w, value);
        w.argument_local(32);
        w.argument_handle(ArgumentKind::kPointer, 0, 0xABC0 + value);
      },
      0, 5, 0x50);
}

inline void check_no_leak(const FakeDriver& driver) {
  for (const auto& [object, count] : driver.references) {
    INFO(object);
    // Private objects are gone; those of the application are where they were.
    CHECK(count == 0);
  }
}

}  // namespace refrain::test
