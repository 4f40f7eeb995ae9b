// Changes of recorded launches, in all versions of mutable dispatch and with whatever a device offers of it.
#include <catch2/catch.hpp>

#include "backends/opencl/opencl_backend.h"
#include "test/backends/fake_work.h"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("versions: updates in both forms") {
  for (std::uint32_t patch = 0; patch <= 5; ++patch) {
    INFO("mutable dispatch 0.9." << patch);
    FakeDriver driver;
    driver.version = make_version(0, 9, patch >= 3 ? 8 : 4);
    driver.mutable_version = make_version(0, 9, patch);
    driver.updatable = 0x1F;
    {
      backends::OpenClBackend backend(driver.dispatch);
      REQUIRE(backend.capabilities(kInOrder).update_arguments);
      RecordMaker records(kInOrder);
      const auto graph = make_graph(kInOrder, {kernel(records, 1), kernel(records, 2)});
      std::unique_ptr<backends::CommandBuffer> buffer;
      REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
      REQUIRE(driver.create_flags == "1293=2");
      REQUIRE(driver.commands[1] == "kernel 2 1,2,3 64,8,1 4,4,1 properties 12b1=f");

      const backends::NodeUpdate updates[] = {{0, kernel(records, 9)}, {1, kernel(records, 2, 128, 0x60)}};
      REQUIRE(buffer->update(updates).code == CL_SUCCESS);
      REQUIRE(driver.updates ==
              std::vector<std::string>{"20480 dims 2 arg 1:4=9 svm 3=43977", "20481 dims 2 arg 0:8 global 128,8"});
      // The same again changes nothing; going back changes what had changed.
      driver.updates.clear();
      const backends::NodeUpdate back[] = {{0, kernel(records, 1)}};
      REQUIRE(buffer->update(back).code == CL_SUCCESS);
      REQUIRE(driver.updates == std::vector<std::string>{"20480 dims 2 arg 1:4=1 svm 3=43969"});
      REQUIRE(driver.references[reinterpret_cast<void*>(0x60)] == 1);

      // Other function, other layout, other dimensions, no such node: refused before the driver is asked.
      driver.updates.clear();
      const auto one_argument = records.make(
          OperationKind::kKernel, {2, 1, 2, 3, 64, 8, 1, 4, 4, 1}, [](OperationWriter& w) { w.argument_local(4); }, 0,
          5, 0x50);
      const backends::NodeUpdate layout[] = {{0, kernel(records, 5)}, {1, one_argument}};
      REQUIRE(buffer->update(layout).code == CL_INVALID_VALUE);
      const backends::NodeUpdate nowhere[] = {{2, kernel(records, 5)}};
      REQUIRE(buffer->update(nowhere).code == CL_INVALID_VALUE);
      REQUIRE(driver.updates.empty());

      // The driver refuses: what the node was stays known.
      driver.update_status = CL_OUT_OF_RESOURCES;
      const backends::NodeUpdate refused[] = {{0, kernel(records, 8, 64, 0x70)}};
      REQUIRE(buffer->update(refused).code == CL_OUT_OF_RESOURCES);
      REQUIRE(driver.references[reinterpret_cast<void*>(0x70)] == 0);
      driver.update_status = CL_SUCCESS;
      REQUIRE(buffer->update(refused).code == CL_SUCCESS);
      REQUIRE(driver.updates == std::vector<std::string>{"20480 dims 2 arg 0:8 arg 1:4=8 svm 3=43976"});
      REQUIRE(driver.references[reinterpret_cast<void*>(0x70)] == 1);
    }
    check_no_leak(driver);
  }
}

TEST_CASE("versions: of the shape of a launch, what changed is given to the driver, and nothing else") {
  FakeDriver driver;
  driver.version = make_version(0, 9, 8);
  driver.mutable_version = make_version(0, 9, 5);
  driver.updatable = 0x1F;
  backends::OpenClBackend backend(driver.dispatch);
  RecordMaker records(kInOrder);
  const auto launch = [&](std::uint64_t offset, std::uint64_t global, std::uint64_t local) {
    return records.make(
        OperationKind::kKernel, {2, offset, 2, 0, global, 8, 1, local, 4, 1},
        [](OperationWriter& w) { RecordMaker::value(w, 7U); }, 0, 5, 0x50);
  };
  const auto graph = make_graph(kInOrder, {launch(1, 64, 4)});
  std::unique_ptr<backends::CommandBuffer> buffer;
  REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
  const auto update = [&](const OperationView& to) {
    driver.updates.clear();
    const backends::NodeUpdate all[] = {{0, to}};
    CHECK(buffer->update(all).ok());
    return driver.updates;
  };
  CHECK(update(launch(1, 64, 8)) == std::vector<std::string>{"20480 dims 2 local 8,4"});
  CHECK(update(launch(1, 32, 8)) == std::vector<std::string>{"20480 dims 2 global 32,8"});
  CHECK(update(launch(3, 32, 8)) == std::vector<std::string>{"20480 dims 2 offset 3,2"});
  CHECK(update(launch(1, 64, 4)) == std::vector<std::string>{"20480 dims 2 global 64,8 local 4,4 offset 1,2"});
}

TEST_CASE("versions: updates while running wait for nothing") {
  for (const std::uint32_t patch : {4U, 8U}) {
    FakeDriver driver;
    driver.version = make_version(0, 9, patch);
    driver.mutable_version = make_version(0, 9, patch == 8 ? 5 : 1);
    driver.updatable = 0x1F;
    {
      backends::OpenClBackend backend(driver.dispatch);
      RecordMaker records(kInOrder);
      const auto graph = make_graph(kInOrder, {kernel(records, 1, 64, 0x60)});
      std::unique_ptr<backends::CommandBuffer> buffer;
      REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
      driver.events_complete = false;
      REQUIRE(buffer->enqueue({}, nullptr).ok());
      const backends::NodeUpdate update[] = {{0, kernel(records, 2, 64, 0x70)}};
      // Before 0.9.8 that needs simultaneous use, which this device has not.
      REQUIRE(buffer->update(update).ok() == (patch == 8));
      if (patch == 8) {  // the running submission still uses the old buffer
        REQUIRE(driver.references[reinterpret_cast<void*>(0x60)] == 1);
      }
      driver.events_complete = true;
    }
    check_no_leak(driver);
  }
}

TEST_CASE("versions: each kind of update by itself, and all of them together") {
  for (cl_bitfield offered = 0; offered < 0x20; ++offered) {
    CAPTURE(offered);
    FakeDriver driver;
    driver.version = make_version(0, 9, 8);
    driver.mutable_version = make_version(0, 9, 5);
    driver.updatable = offered;
    backends::OpenClBackend backend(driver.dispatch);
    const backends::Capabilities can = backend.capabilities(kInOrder);
    CHECK(can.update_arguments == ((offered & 8) != 0));
    CHECK(can.update_sizes == ((offered & 2) != 0));
    RecordMaker records(kInOrder);
    const auto launch = [&](std::uint64_t offset, std::uint64_t global, std::uint64_t local, std::uint32_t value) {
      return records.make(
          OperationKind::kKernel, {2, offset, 2, 0, global, 8, 1, local, 4, 1},
          [value](OperationWriter& w) { RecordMaker::value(w, value); }, 0, 5, 0x50);
    };
    const auto graph = make_graph(kInOrder, {launch(1, 64, 4, 7), launch(1, 64, 4, 7)});
    std::unique_ptr<backends::CommandBuffer> buffer;
    REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
    // What is not offered is not asked for.
    const bool any = (offered & 0xF) != 0;
    CHECK(driver.create_flags == (any ? "1293=2" : ""));
    const std::string asked = any ? std::string(" properties 12b1=") + "0123456789abcdef"[offered & 0xF] : "";
    CHECK(driver.commands[0] == "kernel 2 1,2,0 64,8,1 4,4,1" + asked);
    const auto changes = [&](const OperationView& to) {
      driver.updates.clear();
      // The other node stays as it is: what it could be given does not matter.
      const backends::NodeUpdate all[] = {{0, to}};
      const bool done = buffer->update(all).ok();
      CHECK(driver.updates.size() == (done ? 1 : 0));
      const backends::NodeUpdate back[] = {{0, launch(1, 64, 4, 7)}};
      CHECK((!done || buffer->update(back).ok()));
      return done;
    };
    CHECK(changes(launch(3, 64, 4, 7)) == ((offered & 1) != 0));
    CHECK(changes(launch(1, 32, 4, 7)) == ((offered & 2) != 0));
    CHECK(changes(launch(1, 64, 8, 7)) == ((offered & 4) != 0));
    CHECK(changes(launch(1, 64, 4, 8)) == ((offered & 8) != 0));
    CHECK(changes(launch(1, 32, 4, 8)) == ((offered & 0xA) == 0xA));
    // Two nodes, of which one cannot be changed: neither is.
    driver.updates.clear();
    const backends::NodeUpdate both[] = {{0, launch(1, 32, 4, 7)}, {1, launch(1, 64, 4, 8)}};
    CHECK(buffer->update(both).ok() == ((offered & 0xA) == 0xA));
    CHECK((driver.updates.empty() || (offered & 0xA) == 0xA));
  }
}

TEST_CASE("versions: what mutable dispatch offers, what is used of it, and what the rest costs is told") {
  const auto note = [](std::uint32_t version, cl_bitfield offered) {
    FakeDriver driver;
    driver.mutable_version = version;
    driver.updatable = offered;
    backends::OpenClBackend backend(driver.dispatch);
    static_cast<void>(backend.capabilities(kInOrder));
    const auto all = backend.notes();
    REQUIRE(all.size() == 1);
    return all[0].substr(all[0].find(": ") + 2);
  };
  const std::uint32_t known = make_version(0, 9, 1);
  CHECK(note(0, 0) ==
        "mutable dispatch offers nothing; nothing is used: a recorded graph keeps its arguments, so that what has new "
        "ones "
        "each time is not replayed");
  CHECK(note(known, 0x1F) ==
        "mutable dispatch offers global_offset, global_size, local_size, arguments, exec_info; arguments and "
        "global_size are used");
  CHECK(
      note(known, 0x08) ==
      "mutable dispatch offers arguments; arguments are used: recorded graphs are given new ones, but each global size "
      "needs a graph of its own");
  CHECK(note(known, 0x02) ==
        "mutable dispatch offers global_size; global_size is used: a recorded graph keeps its arguments, so that what "
        "has "
        "new ones each time is not replayed");
  // Of a version that is not known yet nothing is used.
  const std::string newer = note(make_version(0, 9, 6), 0x1F);
  CHECK(newer.find("offers global_offset") != std::string::npos);
  CHECK(newer.find("nothing is used") != std::string::npos);
}
