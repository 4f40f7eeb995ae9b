#include "layer/common/wait_role.h"

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::common {
namespace {

TEST_CASE("the role of an event is its age, and once it was waited for, how long ago and as which event") {
  streams::test::Rig rig;
  const streams::test::Stretch stretch(rig);
  stretch.submit(0, 8);
  const replay::Lane& lane = rig.engine->lane();
  const std::uint64_t own = lane.number(), other = own + 1, now = lane.next_sequence();
  REQUIRE(now > 8);
  const auto age = [&](const NewestWait& wait, std::uint64_t by, std::uint64_t ago) {
    return wait.role(lane, by, now - ago).token;
  };
  NewestWait wait;
  CHECK(age(wait, own, 3) == age(wait, own, 3));
  CHECK(age(wait, own, 3) != age(wait, own, 4));
  CHECK(age(wait, own, kFarBack) == age(wait, own, kFarBack + 7));
  CHECK(age(wait, other, 3) == age(wait, other, 4));
  CHECK(age(wait, other, 3) != age(wait, own, 3));
  CHECK_FALSE(wait.role(lane, own, now - 1).repeated);

  const auto waited = [&](std::uint64_t ago, std::uint64_t place) {
    NewestWait made;
    made.note(own, now - ago, place);
    return made.role(lane, own, 0);
  };
  for (const std::uint64_t maker : {own, other}) {
    wait.note(own, now - 1, 0);
    CHECK(wait.role(lane, maker, now - 5).repeated);
    CHECK(wait.role(lane, maker, now - 5).token == wait.role(lane, maker, now - 6).token);
  }
  CHECK(waited(1, 0).token != waited(2, 0).token);
  CHECK(waited(1, 0).token != waited(1, 1).token);
  CHECK(waited(1, 0).repeated);
  wait.forget();
  CHECK_FALSE(wait.role(lane, own, now - 1).repeated);
}

TEST_CASE("where several threads wait for an event nobody's wait counts, whoever came last") {
  streams::test::Rig rig;
  const streams::test::Stretch stretch(rig);
  stretch.submit(0, 8);
  const replay::Lane& lane = rig.engine->lane();
  const std::uint64_t own = lane.number(), other = own + 1, now = lane.next_sequence();
  for (const bool own_last : {true, false}) {
    NewestWait wait;
    wait.note(own_last ? other : own, now - 1, 0);
    wait.note(own_last ? own : other, now - 1, 0);
    CHECK_FALSE(wait.role(lane, other, 7).repeated);
    wait.note(own, now - 1, 0);  // it stays so
    CHECK_FALSE(wait.role(lane, other, 7).repeated);
    CHECK(wait.role(lane, other, 7).token == NewestWait().role(lane, other, 9).token);
  }
}

}  // namespace
}  // namespace refrain::layer::common
