#include "backends/level_zero/event_states.h"

#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

#include "test/backends/record_maker.h"

namespace {

using namespace refrain;
using namespace refrain::backends;
using test::ArgumentKind;
using test::OperationKind;
using test::OperationView;
using test::OperationWriter;

using Events = std::set<ze_event_handle_t>;
Events set_events;
int changes = 0;  ///< by the host

ze_event_handle_t event(std::uintptr_t number) {
  return reinterpret_cast<ze_event_handle_t>(number);
}

struct Fixture {
  capture::QueueInfo queue{.id = 1, .handle = 1};
  test::RecordMaker records{queue};
  LevelZeroDriver driver;
  EventStates states{driver};

  Fixture() {
    set_events.clear();
    changes = 0;
    driver.zeEventQueryStatus = [](ze_event_handle_t event) {
      return set_events.contains(event) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
    };
    driver.zeEventHostSignal = [](ze_event_handle_t event) {
      ++changes;
      return set_events.insert(event).second ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
    };
    driver.zeEventHostReset = [](ze_event_handle_t event) {
      ++changes;
      set_events.erase(event);
      return ZE_RESULT_SUCCESS;
    };
  }

  OperationView command(OperationKind kind, std::vector<std::uint64_t> events) {
    return records.make(kind, {}, [events = std::move(events)](OperationWriter& writer) {
      for (const std::uint64_t each : events) {
        writer.argument_handle(ArgumentKind::kOtherHandle, each, each);
      }
    });
  }
  OperationView signals(std::uint64_t what) { return command(OperationKind::kEventRecord, {what}); }
  OperationView resets(std::uint64_t what) { return command(OperationKind::kOther, {what}); }
  OperationView waits_for(std::uint64_t what) { return command(OperationKind::kEventWait, {0, what}); }

  /// Gives all of it to a list, which does it when everything was given.
  ze_result_t run(const std::vector<OperationView>& all) {
    ze_result_t status = ZE_RESULT_SUCCESS;
    for (const OperationView& each : all) {
      const ze_result_t refused = states.before(each);
      status = status != ZE_RESULT_SUCCESS ? status : refused;
    }
    if (status == ZE_RESULT_SUCCESS) {
      for (const OperationView& each : all) {
        const auto what = event(static_cast<std::uintptr_t>(each.handle_of(0)));
        if (each.kind() == OperationKind::kEventRecord) {
          CHECK(set_events.insert(what).second);
        } else if (each.kind() == OperationKind::kOther) {
          set_events.erase(what);
        } else {
          CHECK(set_events.contains(event(static_cast<std::uintptr_t>(each.handle_of(1)))));
        }
      }
    }
    states.run_ended();
    return status;
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "events are what they were before each run, and behind the last what the first one left") {
  set_events = {event(1), event(4)};
  const std::vector<OperationView> work = {waits_for(1), resets(1), signals(2), signals(3),
                                           waits_for(3), resets(3), resets(4),  signals(4)};
  states.begin();
  for (int i = 0; i < 3; ++i) {
    CHECK(run(work) == ZE_RESULT_SUCCESS);
    CHECK(set_events == Events{event(2), event(4)});
  }
  set_events = {event(3)};  // as a list leaves it that does something else
  states.end();
  CHECK(set_events == Events{event(2), event(4)});
}

TEST_CASE_METHOD(Fixture, "a recorded list is another run") {
  states.begin();
  CHECK(run({signals(2)}) == ZE_RESULT_SUCCESS);
  CHECK(states.before_list() == ZE_RESULT_SUCCESS);
  CHECK(set_events.empty());
  CHECK(states.before_list() == ZE_RESULT_SUCCESS);  // its next part
  set_events.insert(event(2));
  states.end();
  CHECK(set_events == Events{event(2)});
  CHECK(changes == 1);
}

TEST_CASE_METHOD(Fixture, "work that ran once is left alone") {
  set_events = {event(1)};
  states.begin();
  CHECK(run({resets(1), signals(2)}) == ZE_RESULT_SUCCESS);
  states.end();
  CHECK(set_events == Events{event(2)});
  CHECK(changes == 0);
}

TEST_CASE_METHOD(Fixture, "what waits for an event that somebody else sets meanwhile does not run again") {
  states.begin();
  CHECK(states.before(waits_for(1)) == ZE_RESULT_SUCCESS);
  CHECK(states.before(signals(2)) == ZE_RESULT_SUCCESS);
  set_events = {event(1), event(2)};
  states.run_ended();
  CHECK(states.before(waits_for(1)) != ZE_RESULT_SUCCESS);
  CHECK(states.before(signals(2)) != ZE_RESULT_SUCCESS);
  CHECK(states.before_list() != ZE_RESULT_SUCCESS);
  states.end();
  CHECK(set_events == Events{event(1), event(2)});
  // The next check knows nothing of it.
  states.begin();
  CHECK(run({waits_for(1)}) == ZE_RESULT_SUCCESS);
  CHECK(run({waits_for(1)}) == ZE_RESULT_SUCCESS);
  states.end();
}

TEST_CASE_METHOD(Fixture, "what other threads submit, and what comes outside of a check, is not looked at") {
  CHECK(states.before(waits_for(1)) == ZE_RESULT_SUCCESS);
  states.run_ended();
  CHECK(states.before_list() == ZE_RESULT_SUCCESS);
  states.end();
  states.begin();
  CHECK(run({signals(2)}) == ZE_RESULT_SUCCESS);
  const OperationView waits = waits_for(1);
  std::thread([&] {
    CHECK(states.before(waits) == ZE_RESULT_SUCCESS);
    CHECK(states.before_list() == ZE_RESULT_SUCCESS);
    states.run_ended();
    states.end();
  }).join();
  CHECK(changes == 0);
  CHECK(states.before_list() == ZE_RESULT_SUCCESS);
  CHECK(set_events.empty());
  states.end();
}
