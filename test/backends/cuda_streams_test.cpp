// What is known of the order of streams, and the waits that are put off until somebody needs them.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "backends/cuda/cuda_api.h"
#include "backends/cuda/cuda_backend.h"

namespace refrain::backends {
namespace {

std::vector<std::string> calls;
CUresult record_result = CUDA_SUCCESS;
CUresult query_result = CUDA_ERROR_NOT_READY;
CUresult event_result = CUDA_ERROR_NOT_READY;
CUresult wait_result = CUDA_SUCCESS;
int asked = 0;
int done_after = -1;  ///< so many questions an event is done; -1: what event_result says

std::string name(const void* handle) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(handle));
}

CudaDriver recording_driver() {
  CudaDriver driver;
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = nullptr;
    return CUDA_SUCCESS;
  };
  driver.cuCtxPushCurrent_v2 = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuCtxPopCurrent_v2 = [](CUcontext*) { return CUDA_SUCCESS; };
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(100);
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent, CUstream stream) {
    calls.push_back("record " + name(stream));
    return record_result;
  };
  driver.cuStreamWaitEvent = [](CUstream stream, CUevent, unsigned) {
    calls.push_back("wait " + name(stream));
    return wait_result;
  };
  driver.cuEventQuery = [](CUevent) {
    ++asked;
    return asked == done_after ? CUDA_SUCCESS : event_result;
  };
  driver.cuStreamQuery = [](CUstream) { return query_result; };
  driver.cuStreamSynchronize = [](CUstream stream) {
    calls.push_back("synchronize " + name(stream));
    return CUDA_SUCCESS;
  };
  return driver;
}

struct Streams {
  CudaDriver driver = recording_driver();
  RightOfWay right_of_way;
  CudaEventPool events{driver, right_of_way};
  CudaStreamOrder order;
  CudaStreamLinks links{driver, events, order};
  CudaStream one, two, three;
  std::vector<CudaStream*> others{&two, &three};
  Streams() {
    one.handle = reinterpret_cast<CUstream>(1);
    two.handle = reinterpret_cast<CUstream>(2);
    three.handle = reinterpret_cast<CUstream>(3);
    for (CudaStream* stream : {&one, &two, &three}) {
      stream->context = reinterpret_cast<CUcontext>(7);
    }
    calls.clear();
    record_result = CUDA_SUCCESS;
    query_result = event_result = CUDA_ERROR_NOT_READY;
    wait_result = CUDA_SUCCESS;
    asked = 0;
    done_after = -1;
  }
  ~Streams() {
    for (CudaStream* stream : {&one, &two, &three}) {
      links.forget(*stream);
    }
  }
  std::vector<std::string> take() { return std::exchange(calls, {}); }

  /// A graph over all of them was launched on the first one. `meanwhile`: what other threads did from the moment it was
  /// asked what the others hold.
  template <class Meanwhile>
  void link(Meanwhile&& meanwhile) {
    const StreamPoint<CudaApi> before[] = {order.now(two), order.now(three)};
    meanwhile();
    links.link(one, CudaStreamOrder::submitted(one), others, before);
  }
  void link() {
    link([] {});
  }
};
using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("an error has its name, also where the driver tells none") {
  CudaDriver driver;
  CHECK(std::string(CudaApi::error_name(driver, CUDA_ERROR_OUT_OF_MEMORY)) == "unknown CUDA error");
  driver.cuGetErrorName = [](CUresult status, const char** name) {
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return status == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
  };
  CHECK(std::string(CudaApi::error_name(driver, CUDA_ERROR_OUT_OF_MEMORY)) == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(std::string(CudaApi::error_name(driver, CUDA_ERROR_DEINITIALIZED)).find("the process ends") !=
        std::string::npos);
}

TEST_CASE_METHOD(Streams, "a stream comes after another one up to the point it waited for, no further") {
  CudaStreamOrder::submitted(two);
  CHECK_FALSE(order.covers(one, two));
  order.waits_for(one, order.now(two));
  CHECK(order.covers(one, two));
  CHECK_FALSE(order.covers(two, one));
  CudaStreamOrder::submitted(two);
  CHECK_FALSE(order.covers(one, two));
}

TEST_CASE_METHOD(Streams, "launches of the program's graphs say nothing of its events, unless those may record some") {
  const std::uint64_t before = order.ends_epoch();
  order.waits_for(one, order.now(two));
  order.own_graph_launched();
  CHECK(order.covers(one, two));
  CHECK(order.ends_epoch() == before);
  order.graphs_record_events();
  CHECK(order.covers(one, two));
  order.own_graph_launched();
  CHECK_FALSE(order.covers(one, two));
  CHECK(order.ends_epoch() != before);
}

TEST_CASE_METHOD(Streams, "after a call that may have submitted anything, nothing is known of the order") {
  order.waits_for(one, order.now(two));
  REQUIRE(order.covers(one, two));
  order.forget();
  CHECK_FALSE(order.covers(one, two));
}

TEST_CASE_METHOD(Streams,
                 "an event says nothing about what nobody counted after its record, though the wait comes later") {
  CudaStreamOrder::submitted(two);
  const StreamPoint<CudaApi> record = order.now(two);
  order.forget();
  order.waits_for(one, record);
  CHECK_FALSE(order.covers(one, two));
}

TEST_CASE_METHOD(Streams, "what another thread submits while a graph is launched does not come before it") {
  const std::string meanwhile = GENERATE("submission", "any call");
  CAPTURE(meanwhile);
  link([&] {
    if (meanwhile == "submission") {
      CudaStreamOrder::submitted(two);
    } else {
      order.forget();
    }
  });
  CHECK_FALSE(order.covers(one, two));
  SECTION("nor when the link becomes a wait") {
    links.settle(two);
    CHECK(take() == Calls{"record 1", "wait 2"});
    CHECK(order.covers(two, one));
    event_result = CUDA_SUCCESS;
    CHECK(links.only_ends_left(two) == (meanwhile == "any call"));
  }
  SECTION("nor if the graph is done by then") {
    query_result = CUDA_SUCCESS;
    links.settle(two);
    CHECK(take().empty());
  }
  CHECK_FALSE(order.covers(one, two));
}

TEST_CASE_METHOD(Streams, "who comes after a graph does not come after another one that a stream of it has a part in") {
  CudaStream* const follower[] = {&three};
  CudaStream* const leader[] = {&two};
  const StreamPoint<CudaApi> before_first[] = {order.now(three)};
  links.link(two, CudaStreamOrder::submitted(two), follower, before_first);
  const StreamPoint<CudaApi> before_second[] = {order.now(two)};
  links.settle_for(one, leader);
  links.link(one, CudaStreamOrder::submitted(one), leader, before_second);
  links.settle_all();
  CHECK(take() == Calls{"record 2", "wait 3", "record 1", "wait 2"});
  CHECK_FALSE(links.any());
}

TEST_CASE_METHOD(Streams,
                 "another thread's call makes a link a wait while the next graph is launched: nothing is forgotten") {
  link();
  link([&] { links.settle_all(); });
  CHECK(take() == Calls{"record 1", "wait 3", "wait 2"});
  CHECK(order.covers(one, two));
  event_result = CUDA_SUCCESS;
  SECTION("where the next link becomes a wait, too") {
    links.settle(two);
    CHECK(take() == Calls{"record 1", "wait 2"});
    CHECK(links.only_ends_left(two));
  }
  SECTION("but what the program itself submits there counts") {
    CudaStreamOrder::submitted(two);
    links.settle(two);
    CHECK_FALSE(order.covers(one, two));
    CHECK_FALSE(links.only_ends_left(two));
  }
}

TEST_CASE_METHOD(Streams,
                 "what is submitted while a link becomes a wait and the next graph is launched is not forgotten") {
  const bool before = GENERATE(true, false);
  CAPTURE(before);
  link();
  link([&] {
    if (before) {
      CudaStreamOrder::submitted(two);
    }
    links.settle_all();
    if (!before) {
      CudaStreamOrder::submitted(two);
    }
  });
  CHECK_FALSE(order.covers(one, two));
  links.settle(two);
  event_result = CUDA_SUCCESS;
  CHECK_FALSE(links.only_ends_left(two));
}

TEST_CASE_METHOD(Streams,
                 "what another thread submits while the end of a stream's work is recorded does not end there") {
  CUresult status = CUDA_SUCCESS;
  NativeEvent<CudaApi>* event = events.take(one.context, &status);
  const StreamPoint<CudaApi> point = order.now(one);
  event_result = CUDA_SUCCESS;
  SECTION("nothing is submitted") {
    links.ended(one, *event, point);
    CHECK(links.only_ends_left(one));
  }
  SECTION("something is") {
    CudaStreamOrder::submitted(one);
    links.ended(one, *event, point);
    CHECK_FALSE(links.only_ends_left(one));
  }
  events.release(*event);
}

TEST_CASE_METHOD(Streams, "graph after graph over the same streams needs no event in between") {
  for (int i = 0; i < 3; ++i) {
    links.settle_for(one, others);
    link();
    CHECK(order.covers(one, two));
  }
  CHECK(take().empty());
  CHECK(links.any());
}

TEST_CASE_METHOD(Streams, "work for a linked stream waits for the graph first, and only that stream does") {
  link();
  links.settle(two);
  CHECK(take() == Calls{"record 1", "wait 2"});
  links.settle(two);
  CHECK(take().empty());
  links.settle(three);
  CHECK(take() == Calls{"wait 3"});
  CHECK_FALSE(links.any());
  // There is nothing in them but waits for what the first one holds.
  CHECK(order.covers(one, two));
  CHECK(order.covers(one, three));
}

TEST_CASE_METHOD(
    Streams, "before other work for the graph's stream, those linked to it wait: they must not wait for that work") {
  link();
  links.settle(one);
  CHECK(take() == Calls{"record 1", "wait 3", "wait 2"});
  CHECK_FALSE(links.any());
  CHECK_FALSE(one.linked);
}

TEST_CASE_METHOD(Streams, "a graph whose streams are all linked to one of them is launched there, any other at home") {
  const std::vector<CudaStream*> without_two{&one, &three};
  const std::vector<CudaStream*> only_three{&three};
  CHECK(links.leader_of(one, others) == &one);  // no links at all
  link();
  CHECK(links.leader_of(one, others) == &one);
  CHECK(links.leader_of(two, without_two) == &one);
  CHECK(links.leader_of(two, only_three) == &two);  // where they are linked to has no part in it
  links.settle(three);
  CHECK(links.leader_of(two, without_two) == &two);
}

TEST_CASE_METHOD(Streams, "what another thread submits to a graph's stream behind it is no part of the graph") {
  const bool end_first = GENERATE(true, false);
  CAPTURE(end_first);
  CUresult status = CUDA_SUCCESS;
  NativeEvent<CudaApi>* event = events.take(one.context, &status);
  const auto ends = [&] { links.ended(one, *event, order.now(one)); };
  const StreamPoint<CudaApi> before[] = {order.now(two), order.now(three)};
  const std::uint64_t tail = CudaStreamOrder::submitted(one);
  if (end_first) {
    ends();
  }
  links.link(one, tail, others, before);
  if (!end_first) {
    ends();
  }
  REQUIRE(links.is_behind(two, one));
  REQUIRE(links.leader_of(two, std::vector{&one, &three}) == &one);
  CudaStreamOrder::submitted(one);  // it found no link yet when it asked
  SECTION("who is linked waits for the graph's end alone") {
    links.settle(two);
    CHECK(take() == Calls{"wait 2"});
    CHECK_FALSE(order.covers(two, one));
    CHECK(order.covers(one, two));
    event_result = CUDA_SUCCESS;
    CHECK(links.only_ends_left(two));
  }
  SECTION("though others ask for the end of that, too") {
    GraphEnd<CudaApi> end;
    CHECK(&links.recording_place(one, nullptr, &end) == &one);
    CHECK(&links.recording_place(one, event, &end) == &one);
    take();
    links.drop(&end);
    links.settle(two);
    CHECK(take() == Calls{"wait 2"});
  }
  SECTION("or for nothing, where the graph is done") {
    event_result = CUDA_SUCCESS;
    links.settle(two);
    CHECK(take().empty());
    CHECK_FALSE(order.covers(two, one));
  }
  SECTION("an event of a linked stream is recorded there") {
    GraphEnd<CudaApi> end;
    CHECK(&links.recording_place(two, nullptr, &end) == &two);
    CHECK(take() == Calls{"wait 2"});
    event_result = CUDA_SUCCESS;
    CHECK(links.done(end));
    links.drop(&end);
  }
  SECTION("another graph is not launched there for them") {
    CHECK_FALSE(links.is_behind(two, one));
    CHECK(links.leader_of(two, std::vector{&one, &three}) == &two);
  }
  SECTION("the next graph's end is another one") {
    links.link(one, CudaStreamOrder::submitted(one), others, before);
    links.settle(two);
    CHECK(take() == Calls{"record 1", "wait 2"});
  }
  events.release(*event);
}

TEST_CASE_METHOD(Streams, "nothing waits for a graph whose stream is idle") {
  link();
  query_result = CUDA_SUCCESS;
  links.settle(two);
  CHECK(take().empty());
  CHECK(order.covers(two, one));
  CHECK(links.any());  // the third one is asked about when it is used
}

TEST_CASE_METHOD(Streams, "a graph over other streams settles what it does not contain") {
  link();
  CudaStream* const only[] = {&two};
  links.settle_for(one, only);
  CHECK(take() == Calls{"record 1", "wait 3"});
  CHECK(links.any());
  links.settle_for(three, only);  // two goes over to another stream's graph
  CHECK(take() == Calls{"wait 2"});
  CHECK_FALSE(links.any());
}

TEST_CASE_METHOD(Streams, "any call that may observe a stream settles all") {
  link();
  links.settle_all();
  CHECK(take() == Calls{"record 1", "wait 3", "wait 2"});
  CHECK_FALSE(links.any());
  links.settle_all();
  CHECK(take().empty());
}

TEST_CASE_METHOD(Streams,
                 "an event recorded in a linked stream is recorded behind the graph and its end, without a wait") {
  GraphEnd<CudaApi> end;
  link();
  CHECK(&links.recording_place(two, nullptr, &end) == &one);
  CHECK(take() == Calls{"record 1"});
  CHECK(&links.recording_place(one, nullptr, &end) == &one);
  CHECK(take().empty());
  links.settle_all();
  CHECK(take() == Calls{"wait 3", "wait 2"});
  CHECK(&links.recording_place(two, nullptr, &end) == &two);
  CHECK(end.event == nullptr);
}

TEST_CASE_METHOD(Streams, "where a graph is done, what was put behind it is nothing to wait for") {
  GraphEnd<CudaApi> end;
  CHECK_FALSE(links.only_ends_left(one));
  CHECK(asked == 0);
  link();
  static_cast<void>(links.recording_place(two, nullptr, &end));
  links.settle_all();
  CHECK_FALSE(links.done(end));
  CHECK_FALSE(links.only_ends_left(one));
  CHECK_FALSE(links.only_ends_left(two));
  event_result = CUDA_SUCCESS;
  CHECK(links.done(end));
  CHECK(links.only_ends_left(one));
  CHECK(links.only_ends_left(two));
  CudaStreamOrder::submitted(two);  // the program's
  CHECK_FALSE(links.only_ends_left(two));
  CHECK(links.only_ends_left(three));
  SECTION("an error is not for the layer to swallow") {
    event_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    CHECK_FALSE(links.done(end));
    CHECK_FALSE(links.only_ends_left(three));
  }
  SECTION("a call that only may have submitted something changes nothing: another thread knows that its work is done") {
    order.forget();
    CHECK(links.done(end));
    CHECK(links.only_ends_left(three));
  }
  SECTION("a call that may have recorded events where nobody saw it") {
    order.forget_ends();
    CHECK_FALSE(links.done(end));
    CHECK_FALSE(links.only_ends_left(three));
  }
  SECTION("a call that may have added to streams, but not have recorded events") {
    order.forget_stream_ends();
    CHECK(links.done(end));
    CHECK_FALSE(links.only_ends_left(three));
  }
  SECTION("the event is recorded again") {
    links.drop(&end);
    CHECK_FALSE(links.done(end));
  }
  links.drop(&end);
}

TEST_CASE_METHOD(Streams, "if the driver has no event left, the host waits") {
  record_result = CUDA_ERROR_OUT_OF_MEMORY;
  link();
  links.settle(two);
  CHECK(take() == Calls{"record 1", "synchronize 1"});
}

TEST_CASE_METHOD(Streams, "a stream that is destroyed leaves no link") {
  link();
  links.forget(one);
  CHECK_FALSE(links.any());
  links.settle(two);
  CHECK(take().empty());
}

TEST_CASE_METHOD(Streams, "where the driver refuses a wait of held work, the host waits: more is held behind it") {
  CudaBackend backend(driver);
  capture::RecordBytes bytes;
  capture::OperationWriter writer(bytes);
  writer.begin(capture::OperationKind::kEventWait, 1).queue_handle = reinterpret_cast<std::uint64_t>(&two);
  writer.finish();
  NativeEvent<CudaApi>* event = CudaEventPool::borrow(reinterpret_cast<CUevent>(5));
  const Event waits[] = {event->as_event()};
  wait_result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  SECTION("until the event is done") {
    done_after = 3;
    CHECK(backend.issue(capture::OperationView(bytes.data()), waits, nullptr).ok());
    CHECK(asked == 3);
  }
  SECTION("or says that nothing will be") {
    event_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    CHECK(backend.issue(capture::OperationView(bytes.data()), waits, nullptr).code == CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  backend.release_event(waits[0]);
}

}  // namespace refrain::backends
