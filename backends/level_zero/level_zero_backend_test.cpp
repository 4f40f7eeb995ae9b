// Recorded lists and issued commands, against a driver that writes down what it is asked.
#include "backends/level_zero/level_zero_backend.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>

#include "test/backends/record_maker.h"

namespace {

using namespace refrain;
using namespace refrain::backends;
using test::ArgumentKind;
using test::OperationKind;
using test::OperationView;
using test::OperationWriter;
using test::RecordMaker;

struct Call {
  std::string name;
  void* list = nullptr;       ///< that it is appended to, or that is changed
  void* what = nullptr;       ///< the event that is set, or the list that is submitted
  std::uint64_t value = 0;    ///< of a change
  std::uint32_t offset[3]{};  ///< of a launch
};

/// What the driver was asked since the test began.
struct Driver {
  LevelZeroDriver table;
  level_zero::MutableLists mutable_lists;
  std::vector<Call> calls;
  std::set<void*> set;        ///< events
  std::set<void*> destroyed;  ///< lists
  std::uintptr_t last_handle = 0x1000;
  std::uint32_t offset[3]{};
  bool refuses_changes = false;

  Driver();
  [[nodiscard]] std::size_t count(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::count(calls, name, &Call::name));
  }
  /// The lists that were appended to others.
  [[nodiscard]] std::vector<void*> submitted() const {
    std::vector<void*> all;
    for (const Call& call : calls) {
      if (call.name == "append") {
        all.push_back(call.what);
      }
    }
    return all;
  }
};
Driver* driver = nullptr;

template <class Handle>
ze_result_t make(Handle* result) {
  driver->last_handle += 16;
  *result = reinterpret_cast<Handle>(driver->last_handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t launch(const char* name, ze_command_list_handle_t list) {
  Call call{name, list};
  std::ranges::copy(driver->offset, call.offset);
  driver->calls.push_back(call);
  return ZE_RESULT_SUCCESS;
}

ze_result_t append_lists(ze_command_list_handle_t list, std::uint32_t, ze_command_list_handle_t* lists,
                         ze_event_handle_t, std::uint32_t, ze_event_handle_t*) {
  driver->calls.push_back({"append", list, lists[0]});
  return ZE_RESULT_SUCCESS;
}

Driver::Driver() {
  driver = this;
  table.zeKernelCreate = [](ze_module_handle_t, const ze_kernel_desc_t*, ze_kernel_handle_t* made) {
    return make(made);
  };
  table.zeKernelDestroy = [](ze_kernel_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeKernelSetArgumentValue = [](ze_kernel_handle_t, std::uint32_t, std::size_t, const void*) {
    return ZE_RESULT_SUCCESS;
  };
  table.zeKernelSetGroupSize = [](ze_kernel_handle_t, std::uint32_t, std::uint32_t, std::uint32_t) {
    return ZE_RESULT_SUCCESS;
  };
  table.zeKernelSetGlobalOffsetExp = [](ze_kernel_handle_t, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    driver->offset[0] = x;
    driver->offset[1] = y;
    driver->offset[2] = z;
    return ZE_RESULT_SUCCESS;
  };
  table.zeKernelSetIndirectAccess = [](ze_kernel_handle_t, ze_kernel_indirect_access_flags_t) {
    return ZE_RESULT_SUCCESS;
  };
  table.zeCommandListAppendLaunchKernel = [](ze_command_list_handle_t list, ze_kernel_handle_t, const ze_group_count_t*,
                                             ze_event_handle_t, std::uint32_t,
                                             ze_event_handle_t*) { return launch("launch", list); };
  table.zeCommandListAppendLaunchCooperativeKernel =
      [](ze_command_list_handle_t list, ze_kernel_handle_t, const ze_group_count_t*, ze_event_handle_t, std::uint32_t,
         ze_event_handle_t*) { return launch("cooperative launch", list); };
  table.zeCommandListAppendBarrier = [](ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t,
                                        ze_event_handle_t*) {
    driver->calls.push_back({"barrier", list, signal});
    return ZE_RESULT_SUCCESS;
  };
  table.zeEventPoolCreate = [](ze_context_handle_t, const ze_event_pool_desc_t*, std::uint32_t, ze_device_handle_t*,
                               ze_event_pool_handle_t* made) { return make(made); };
  table.zeEventPoolDestroy = [](ze_event_pool_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeEventCreate = [](ze_event_pool_handle_t, const ze_event_desc_t*, ze_event_handle_t* made) {
    return make(made);
  };
  table.zeEventDestroy = [](ze_event_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeEventHostSignal = [](ze_event_handle_t event) {
    driver->calls.push_back({"host signal", nullptr, event});
    return ZE_RESULT_SUCCESS;
  };
  table.zeEventHostReset = [](ze_event_handle_t event) {
    driver->set.erase(event);
    return ZE_RESULT_SUCCESS;
  };
  table.zeEventHostSynchronize = [](ze_event_handle_t event, std::uint64_t) {
    driver->calls.push_back({"wait", nullptr, event});
    return ZE_RESULT_SUCCESS;
  };
  table.zeEventQueryStatus = [](ze_event_handle_t event) {
    return driver->set.contains(event) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  };
  table.zeCommandQueueCreate = [](ze_context_handle_t, ze_device_handle_t, const ze_command_queue_desc_t*,
                                  ze_command_queue_handle_t* made) { return make(made); };
  table.zeCommandQueueDestroy = [](ze_command_queue_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeCommandQueueSynchronize = [](ze_command_queue_handle_t, std::uint64_t) { return ZE_RESULT_SUCCESS; };
  table.zeCommandQueueExecuteCommandLists = [](ze_command_queue_handle_t, std::uint32_t,
                                               ze_command_list_handle_t* lists, ze_fence_handle_t) {
    driver->calls.push_back({"execute", nullptr, lists[0]});
    return ZE_RESULT_SUCCESS;
  };
  table.zeFenceCreate = [](ze_command_queue_handle_t, const ze_fence_desc_t*, ze_fence_handle_t* made) {
    return make(made);
  };
  table.zeFenceDestroy = [](ze_fence_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeFenceQueryStatus = [](ze_fence_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeFenceHostSynchronize = [](ze_fence_handle_t, std::uint64_t) { return ZE_RESULT_SUCCESS; };
  table.zeFenceReset = [](ze_fence_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeCommandListCreate = [](ze_context_handle_t, ze_device_handle_t, const ze_command_list_desc_t*,
                                 ze_command_list_handle_t* made) {
    driver->calls.push_back({"create list"});
    return make(made);
  };
  table.zeCommandListClose = [](ze_command_list_handle_t) { return ZE_RESULT_SUCCESS; };
  table.zeCommandListDestroy = [](ze_command_list_handle_t list) {
    driver->destroyed.insert(list);
    return ZE_RESULT_SUCCESS;
  };
  mutable_lists.next_command = [](ze_command_list_handle_t, const level_zero::MutableCommandId*, std::uint64_t* id) {
    *id = 1;
    return ZE_RESULT_SUCCESS;
  };
  mutable_lists.update = [](ze_command_list_handle_t list, const level_zero::MutableCommands* changes) {
    for (const auto* each = static_cast<const level_zero::MutableArgument*>(changes->pNext); each != nullptr;
         each = static_cast<const level_zero::MutableArgument*>(each->pNext)) {
      Call call{"change", list};
      std::memcpy(&call.value, each->pArgValue, std::min(each->argSize, sizeof(call.value)));
      driver->calls.push_back(call);
    }
    return driver->refuses_changes ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_SUCCESS;
  };
}

constexpr capture::FunctionId kFunction = 7;
constexpr capture::ObjectId kGone = 99;
constexpr int kDestroyed = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;

bool is_alive(ArgumentKind, capture::Handle, capture::ObjectId object) noexcept {
  return object != kGone;
}

/// A list of the program's, and records of what is appended to it.
struct List {
  ImmediateList list;
  capture::QueueInfo info;
  RecordMaker records;

  explicit List(std::uintptr_t number, bool in_order = true)
      : info{number, reinterpret_cast<capture::Handle>(&list), 1, 1, 0, true, false}, records(info) {
    list.handle = reinterpret_cast<ze_command_list_handle_t>(number);
    list.in_order = in_order;
    list.append = &append_lists;
    list.id = number;
  }

  struct Launch {
    std::uint64_t pointer = 0x100;
    capture::ObjectId object = 3;
    std::array<std::uint64_t, 3> offset{};
    std::uint32_t cooperative = 0;
    capture::ObjectId signal = 0;  ///< an event, always with the same handle
  };
  OperationView kernel(const Launch& what) {
    return records.make(
        OperationKind::kKernel, {3, what.offset[0], what.offset[1], what.offset[2], 64, 1, 1, 32, 1, 1},
        [&](OperationWriter& writer) {
          writer.argument_handle(ArgumentKind::kPointer, what.object, what.pointer);
          KernelSettings settings;
          settings.cooperative = what.cooperative;
          RecordMaker::value(writer, settings);
          writer.argument_handle(ArgumentKind::kOtherHandle, what.signal, what.signal == 0 ? 0 : 0x500);
        },
        0, kFunction);
  }
  OperationView barrier(std::initializer_list<capture::Handle> waits) {
    return records.make(OperationKind::kBarrier, {}, [&](OperationWriter& writer) {
      writer.argument_handle(ArgumentKind::kOtherHandle, 0, 0);
      for (const capture::Handle event : waits) {
        writer.argument_handle(ArgumentKind::kOtherHandle, 4, event);
      }
    });
  }
};

struct Rig {
  Driver asked;
  LevelZeroBackend backend{asked.table, &is_alive};

  Rig() { backend.know_function(kFunction, nullptr, "kernel"); }

  std::unique_ptr<CommandBuffer> record(List& list, std::initializer_list<OperationView> operations) {
    const capture::Graph graph = test::make_graph(list.info, operations);
    std::unique_ptr<CommandBuffer> result;
    REQUIRE(backend.record(graph, test::all_nodes(graph), &result).ok());
    asked.calls.clear();
    return result;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Call& call : asked.calls) {
      all.push_back(call.name);
    }
    return all;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Rig, "a cooperative launch that was held is issued as one, and a plain one as a plain one") {
  List list(1);
  for (const std::uint32_t cooperative : {1U, 0U, 1U}) {
    asked.calls.clear();
    REQUIRE(backend.issue(list.kernel({.cooperative = cooperative}), {}, nullptr).ok());
    CHECK(names() == Names{cooperative == 1 ? "cooperative launch" : "launch"});
  }
}

TEST_CASE_METHOD(Rig, "each launch has its own offset, whatever the one before had") {
  List list(1);
  using Offset = std::array<std::uint64_t, 3>;
  for (const Offset& offset : {Offset{5, 6, 7}, Offset{0, 0, 0}, Offset{0, 3, 0}, Offset{0, 0, 2}, Offset{1, 0, 0}}) {
    REQUIRE(backend.issue(list.kernel({.offset = offset}), {}, nullptr).ok());
    CHECK(std::ranges::equal(asked.calls.back().offset, offset));
  }
}

TEST_CASE_METHOD(Rig, "a graph on a queue of our own starts behind what was issued one by one") {
  List list(1);
  list.list.append = nullptr;
  const auto buffer = record(list, {list.kernel({}), list.kernel({})});
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  CHECK(names().front() == "host signal");  // there is nothing that it would have to wait for
  list.list.done_up_to(list.list.appended);
  REQUIRE(list.list.quiet());
  REQUIRE(backend.issue(list.kernel({}), {}, nullptr).ok());
  asked.calls.clear();
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  CHECK(names() == Names{"barrier", "execute", "barrier"});
}

TEST_CASE_METHOD(Rig, "what names an object that was destroyed meanwhile is not recorded") {
  List list(1);
  const bool memory = GENERATE(true, false);
  const auto gone = memory ? list.kernel({.object = kGone}) : list.kernel({.signal = kGone});
  const capture::Graph graph = test::make_graph(list.info, {list.kernel({}), gone});
  std::unique_ptr<CommandBuffer> buffer;
  CHECK(backend.record(graph, test::all_nodes(graph), &buffer).code == kDestroyed);
  CHECK(buffer == nullptr);
  CHECK(asked.calls.empty());
}

TEST_CASE_METHOD(Rig, "a list that goes takes its own graphs with it, and no others") {
  List first(1), second(2);
  const auto of_first = record(first, {first.kernel({}), first.kernel({})});
  const auto of_second = record(second, {second.kernel({}), second.kernel({})});
  REQUIRE(of_first->enqueue({}, nullptr).ok());
  REQUIRE(of_second->enqueue({}, nullptr).ok());
  const std::vector<void*> running = asked.submitted();
  {
    const LevelZeroBackend::NoRecording recording(backend);
    backend.list_gone(first.list);
  }
  CHECK(asked.destroyed.contains(running[0]));
  CHECK_FALSE(asked.destroyed.contains(running[1]));
  CHECK(asked.count("wait") == 1);  // for the one that runs there
  CHECK_FALSE(of_first->enqueue({}, nullptr).ok());
  CHECK(of_second->enqueue({}, nullptr).ok());
}

TEST_CASE_METHOD(Rig,
                 "a graph with a barrier comes behind everything in its list, unless that waits for events alone") {
  List list(1, false);
  SECTION("for everything") {
    const auto buffer = record(list, {list.kernel({}), list.barrier({}), list.kernel({})});
    REQUIRE(buffer->enqueue({}, nullptr).ok());
    CHECK(names() == Names{"barrier", "append", "barrier"});
  }
  SECTION("for one event") {
    const auto buffer = record(list, {list.kernel({}), list.barrier({0x600}), list.kernel({})});
    REQUIRE(buffer->enqueue({}, nullptr).ok());
    CHECK(names() == Names{"append", "barrier"});
  }
}

TEST_CASE_METHOD(Rig, "a recorded list that the driver refused to change is not submitted any more") {
  List list(1);
  list.list.updates = &asked.mutable_lists;
  const auto buffer = record(list, {list.kernel({.pointer = 0x100})});
  asked.refuses_changes = true;
  const NodeUpdate other{0, list.kernel({.pointer = 0x200})};
  REQUIRE_FALSE(buffer->update(std::span(&other, 1)).ok());
  REQUIRE(asked.count("change") == 1);
  void* const refused = asked.calls.front().list;
  asked.refuses_changes = false;
  CHECK(buffer->enqueue({}, nullptr).ok());
  CHECK(buffer->busy());
  CHECK(buffer->enqueue({}, nullptr).code == ZE_RESULT_NOT_READY);
  const std::vector<void*> submitted = asked.submitted();
  REQUIRE(submitted.size() == 1);
  CHECK(submitted[0] != refused);
}

TEST_CASE_METHOD(Rig, "memory that came back at the same address is given to a recorded list as another") {
  List list(1);
  list.list.updates = &asked.mutable_lists;
  const auto buffer = record(list, {list.kernel({.pointer = 0x100, .object = 3})});
  const NodeUpdate same{0, list.kernel({.pointer = 0x100, .object = 3})};
  REQUIRE(buffer->update(std::span(&same, 1)).ok());
  CHECK(asked.calls.empty());
  const NodeUpdate other{0, list.kernel({.pointer = 0x100, .object = 4})};
  REQUIRE(buffer->update(std::span(&other, 1)).ok());
  REQUIRE(asked.count("change") == 1);
  CHECK(asked.calls.front().value == 0x100);
}

TEST_CASE_METHOD(Rig, "an event that came back with the same handle needs another list") {
  List list(1);
  CHECK(only_arguments_differ(list.kernel({.object = 3, .signal = 8}), list.kernel({.object = 4, .signal = 8})));
  CHECK_FALSE(only_arguments_differ(list.kernel({.object = 3, .signal = 8}), list.kernel({.object = 3, .signal = 9})));
}
