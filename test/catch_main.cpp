#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "test/support/hang.h"

namespace {

/// A test case that never ends is ended, and says where its threads are.
class Hangs : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    TestEventListenerBase::testCaseStarting(test);
    refrain::test::now_doing(test.name);
    static const bool watched = (refrain::test::watch_this_process(), true);
    static_cast<void>(watched);
  }
};
CATCH_REGISTER_LISTENER(Hangs)

}  // namespace
