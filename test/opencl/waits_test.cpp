// What wait lists add to tokens and records: the rule is in layer/opencl/waits.h.

#include "layer/opencl/waits.h"

#include <algorithm>

#include "test/opencl/record_fixture.h"

namespace {

using namespace refrain;
using namespace refrain::layer;
using namespace refrain::layer::opencl;

struct Waiting : Fixture {
  Waiting() = default;
  ~Waiting() {
    for (cl_command_queue each : {queue, unordered, other}) {
      CHECK(wrap::clFinish(each) == CL_SUCCESS);
    }
    const std::size_t known = objects.events.size();
    for (cl_event event : events) {
      CHECK(wrap::clReleaseEvent(event) == CL_SUCCESS);
    }
    CHECK(objects.events.size() == known - events.size());
    CHECK(wrap::clReleaseCommandQueue(unordered) == CL_SUCCESS);
    CHECK(wrap::clReleaseCommandQueue(other) == CL_SUCCESS);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// The event of a launch that waits for nothing.
  cl_event made_in(cl_command_queue on) {
    cl_event event = nullptr;
    launch(kernel, 16, {}, &event, on);
    events.push_back(event);
    return event;
  }
  cl_event user_event() {
    events.push_back(wrap::clCreateUserEvent(context, nullptr));
    return events.back();
  }
  capture::Token token(cl_command_queue on, const std::vector<cl_event>& waits) {
    return launch(kernel, 16, waits, nullptr, on).token();
  }
  static std::vector<capture::WaitRef> waits() {
    const auto all = Fixture::recorder().last().waits();
    return {all.begin(), all.end()};
  }

  cl_command_queue unordered =
      wrap::clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, nullptr);
  cl_command_queue other = wrap::clCreateCommandQueue(context, device, 0, nullptr);
  std::vector<cl_event> events;
};

}  // namespace

TEST_CASE_METHOD(Waiting, "a wait for work of the same in-order queue adds nothing, however old it is") {
  const capture::Token alone = token(queue, {});
  cl_event event = made_in(queue);
  for (int i = 0; i < 3; ++i) {
    CHECK(token(queue, {event}) == alone);
    CHECK(waits().empty());
  }
  CHECK(token(other, {event}) != token(other, {}));
}

TEST_CASE_METHOD(Waiting, "an in-order queue that waited for an event is behind it, other queues are not") {
  const capture::Token alone = token(other, {});
  cl_event event = made_in(queue);
  CHECK(token(other, {event}) != alone);
  CHECK(waits().size() == 1);
  CHECK(token(other, {event}) == alone);
  CHECK(waits().empty());
  const capture::Token apart = token(unordered, {});
  CHECK(token(unordered, {event}) != apart);
  CHECK(token(unordered, {event}) != apart);
  // What the driver refused waits for nothing.
  cl_event late = made_in(queue);
  const size_t none = 0;
  const Instead refusing(
      target.clEnqueueNDRangeKernel,
      +[](cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*, cl_uint, const cl_event*,
          cl_event*) -> cl_int { return CL_OUT_OF_RESOURCES; });
  CHECK(wrap::clEnqueueNDRangeKernel(other, kernel, 1, nullptr, &none, nullptr, 1, &late, nullptr) ==
        CL_OUT_OF_RESOURCES);
  CHECK_FALSE(objects.events.find(handle_of(late))->is_behind_it(objects.queues.find(handle_of(other))->id));
}

TEST_CASE_METHOD(Waiting, "an event that is waited for again and again has the same role each time") {
  cl_event event = made_in(unordered);
  const std::uint64_t sequence = recorder().last().header().sequence;
  const capture::Token first = token(unordered, {event});
  CHECK(waits() == std::vector<capture::WaitRef>{capture::kInternalWait | sequence});
  const capture::Token again = token(unordered, {event});
  CHECK(waits() == std::vector<capture::WaitRef>{capture::kInternalWait | capture::kRepeatedWait | sequence});
  CHECK(again != first);
  CHECK(token(unordered, {event}) == again);
  CHECK(token(unordered, {event}) == again);
  token(unordered, {});
  CHECK(token(unordered, {event}) != again);  // another one came between
  // The first wait has the age of the event, and its place among several counts.
  cl_event second = made_in(unordered);
  CHECK(token(unordered, {second}) == first);
  const capture::Token both = token(unordered, {event, second});
  CHECK(token(unordered, {event, second}) != both);
  const capture::Token as_first = token(unordered, {event});
  token(unordered, {second, event});
  CHECK(token(unordered, {event}) != as_first);
}

TEST_CASE_METHOD(Waiting, "user events, which anybody may complete, have a role as soon as they are waited for") {
  cl_event user = user_event();
  const capture::Token first = token(unordered, {user});
  CHECK(waits() == std::vector<capture::WaitRef>{handle_of(user)});
  const capture::Token again = token(unordered, {user});
  CHECK(waits() == std::vector<capture::WaitRef>{handle_of(user) | capture::kRepeatedWait});
  CHECK(first != again);
  CHECK_FALSE(state.unset_user_events.load() == 0);
  CHECK(wrap::clSetUserEventStatus(user, CL_COMPLETE) == CL_SUCCESS);
  CHECK(state.unset_user_events.load() == 0);
}

TEST_CASE_METHOD(Waiting, "a wait for an event that is known to be complete adds nothing") {
  const capture::Token alone = token(unordered, {});
  cl_event waited = made_in(unordered);
  CHECK(token(unordered, {waited}) != alone);
  CHECK(wrap::clWaitForEvents(1, &waited) == CL_SUCCESS);
  CHECK(token(unordered, {waited}) == alone);
  CHECK(waits().empty());
  // The driver is asked for an event that was waited for before the program last waited.
  cl_event asked = made_in(unordered);
  CHECK(token(unordered, {asked}) != alone);
  CHECK(::clWaitForEvents(1, &asked) == CL_SUCCESS);  // nobody has seen it
  CHECK(token(unordered, {asked}) != alone);
  CHECK(wrap::clFinish(unordered) == CL_SUCCESS);
  CHECK(token(unordered, {asked}) == alone);
  CHECK(waits().empty());
}

TEST_CASE_METHOD(Waiting, "an event that failed, or is not complete yet, stays in what waits for it", "[promise-5]") {
  cl_event failed = user_event();
  cl_event late = user_event();
  CHECK(wrap::clSetUserEventStatus(failed, CL_OUT_OF_RESOURCES) == CL_SUCCESS);
  const QueueState& in_order = *objects.queues.find(handle_of(queue));
  const replay::Lane& lane = engine()->lane();
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (cl_event event : {failed, late}) {
      // (PoCL 3.1 never ends what waits for an event that has failed already, so the driver gets none of it.)
      Waits all(1, &event);
      capture::Token changed = 1;
      CHECK(all.look(*engine(), in_order, &changed) == nullptr);
      CHECK((changed == 1) == (round != 0));  // then the queue is behind it …
      capture::RecordBytes bytes;
      capture::OperationWriter writer(bytes);
      writer.begin(capture::OperationKind::kMarker, changed);
      all.write(lane, true, writer);
      writer.finish();
      const OperationView record(bytes.data());
      REQUIRE(record.waits().size() == 1);  // … and the driver is told all the same
      CHECK(record.waits()[0] == (handle_of(event) | (round != 0 ? capture::kOrderedWait : 0)));
      all.submitted(lane, lane.next_sequence(), in_order);
    }
    CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  }
  CHECK(wrap::clSetUserEventStatus(late, CL_COMPLETE) == CL_SUCCESS);
}
