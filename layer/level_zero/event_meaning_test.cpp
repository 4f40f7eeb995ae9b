#include "layer/level_zero/event_meaning.h"

#include <catch2/catch.hpp>

using refrain::backends::ImmediateList;
using refrain::layer::level_zero::EventMeaning;

namespace {

/// A list to which five commands were given; the event is signalled by the newest.
struct Rig {
  ImmediateList list, other;
  EventMeaning event;

  Rig() { list.appended = other.appended = 5; }
  void signal(ImmediateList* by, std::uint64_t covers) { event.signals(event.begin_signal(), by, covers); }
  void see() { event.seen_set(event.look()); }
};

}  // namespace

TEST_CASE("who sees an event set knows what is done") {
  Rig rig;
  CHECK_FALSE(rig.list.quiet());
  rig.signal(&rig.list, 5);
  CHECK_FALSE(rig.list.quiet());
  rig.see();
  CHECK(rig.list.quiet());
  SECTION("also the next time, when the host has reset it") {
    rig.event.reset_by_host();
    rig.list.appended = 7;
    rig.signal(&rig.list, 7);
    CHECK_FALSE(rig.list.quiet());
    rig.see();
    CHECK(rig.list.quiet());
  }
  SECTION("not if it was not reset: it may be seen set too early") {
    rig.list.appended = 7;
    rig.signal(&rig.list, 7);
    rig.see();
    CHECK_FALSE(rig.list.quiet());
  }
  SECTION("what is known is not forgotten") {
    rig.list.done_up_to(3);
    CHECK(rig.list.quiet());
  }
}

TEST_CASE("what another thread does between the look and the answer counts") {
  Rig rig;
  rig.signal(&rig.list, 5);
  const auto sight = rig.event.look();
  SECTION("nothing happens") {
    rig.event.seen_set(sight);
    CHECK(rig.list.quiet());
  }
  SECTION("it is seen, reset, and signalled by another list") {
    rig.see();
    rig.list.appended = 6;
    rig.event.reset_by_host();
    rig.signal(&rig.other, 5);
    rig.event.seen_set(sight);
    CHECK_FALSE(rig.list.quiet());
    CHECK_FALSE(rig.other.quiet());
  }
  SECTION("another command that signals it is on its way") {
    const auto signal = rig.event.begin_signal();
    rig.event.seen_set(sight);
    rig.event.signals(signal, &rig.list, 5);
    CHECK_FALSE(rig.list.quiet());
    rig.see();
    CHECK_FALSE(rig.list.quiet());
  }
}

TEST_CASE("an event that more than one command may have set says nothing") {
  Rig rig;
  rig.signal(&rig.other, 2);
  SECTION("two signals") {
    rig.signal(&rig.list, 5);
  }
  SECTION("reset by the host before the first one was seen") {
    rig.event.reset_by_host();
    rig.signal(&rig.list, 5);
  }
  SECTION("set by the host") {
    rig.event.set_by_host();
    rig.event.reset_by_host();
    rig.signal(&rig.list, 5);
  }
  SECTION("reset by a command") {
    rig.event.muddle();
    rig.see();
    rig.event.reset_by_host();
    rig.signal(&rig.list, 5);
  }
  rig.see();
  CHECK_FALSE(rig.list.quiet());
  CHECK(rig.other.known_done == 0);
}

TEST_CASE("a signal that is known to be done by something else leaves the event as it was") {
  Rig rig;
  rig.signal(&rig.list, 5);
  rig.list.done_up_to(5);  // the list was waited for
  rig.event.reset_by_host();
  rig.list.appended = 6;
  rig.signal(&rig.list, 6);
  rig.see();
  CHECK(rig.list.quiet());
}

TEST_CASE("a new event is clear, whatever the one before it at the same place was") {
  Rig rig;
  rig.signal(&rig.list, 5);
  const auto sight = rig.event.look();
  rig.event.muddle();
  rig.event.renew();
  rig.event.seen_set(sight);
  CHECK_FALSE(rig.list.quiet());
  rig.signal(&rig.list, 5);
  rig.see();
  CHECK(rig.list.quiet());
}

TEST_CASE("set and reset by the host: clear") {
  Rig rig;
  rig.event.set_by_host();
  rig.event.reset_by_host();
  rig.signal(&rig.list, 5);
  rig.see();
  CHECK(rig.list.quiet());
}
