#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "test/support/hang.h"

namespace {

/// A test case that never ends is ended, and says where its threads are.
class Hangs : public Catch::TestEventListenerBase {
 public:
  using Catch::TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    Catch::TestEventListenerBase::testCaseStarting(test);
    refrain::test::now_doing(test.name);
    static const bool watched = (refrain::test::watch_this_process(), true);
    static_cast<void>(watched);
  }
};
CATCH_REGISTER_LISTENER(Hangs)

}  // namespace

int main(int count, char** arguments) {
  return Catch::Session().run(count, arguments);
}
