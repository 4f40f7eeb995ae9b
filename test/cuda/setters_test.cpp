// Promise 4, same data: what setters have set is part of what must be equal. Plain runs and runs in all modes print the
// same, and what is the same again is replayed.

#include "test/cuda/contract.h"

using contract::same_everywhere;

TEST_CASE("promise 4, same data: every setter, in the middle of a loop that is replayed", "[promise-4]") {
  same_everywhere({"every_setter"}, 5000);
}

TEST_CASE("setters that set what is set do not end what is held") {
  same_everywhere({"same_setters"}, 4000);
}

TEST_CASE("promise 5, same errors: launches that are refused since a setter was called", "[promise-5]") {
  same_everywhere({"lowered_limit"}, 500);
}

TEST_CASE("promise 4, same data: what is set for one device and for another one", "[promise-4]") {
  same_everywhere({"setters_of_devices"}, 500, {{"SIM_DEVICES", "2"}});
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("promise 4, same data: what is set by another handle of the same kernel", "[promise-4]") {
  same_everywhere({"handles_of_setters"}, 300);
}

TEST_CASE("promise 4, same data: attributes of launches", "[promise-4]") {
  same_everywhere({"launches_with_attributes"}, 1000);
}

TEST_CASE("promise 4, same data: launches without the attributes that are predicted", "[promise-4]") {
  same_everywhere({"missing_attributes"}, 1000);
}

TEST_CASE("promise 4, same data: launches with an attribute that names an event", "[promise-4]") {
  same_everywhere({"attribute_with_an_event"}, 0);
}

TEST_CASE("promise 4, same data: cooperative launches", "[promise-4]") {
  same_everywhere({"cooperative"}, 1000);
}
#endif
