// Launches written into records and read back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "backends/cuda/issue.h"
#include "backends/cuda/kernel_call.h"
#include "record_maker.h"

namespace refrain::backends {
namespace {

using capture::OperationKind;

test::RecordMaker maker() {
  capture::QueueInfo queue;
  queue.id = 1;
  return test::RecordMaker(queue);
}

capture::OperationView launch(test::RecordMaker& records,
                              const std::function<void(capture::OperationWriter&)>& arguments) {
  return records.make(OperationKind::kKernel, shape_of({5, 6, 7}, {32, 2, 1}), arguments);
}

}  // namespace

TEST_CASE("a launch with very many parameters is read back") {
  auto records = maker();
  const auto record = launch(records, [&](capture::OperationWriter& writer) {
    for (std::uint64_t i = 0; i < 200; ++i) {
      test::RecordMaker::value(writer, i * 3);
    }
    writer.argument_local(0);
  });
  KernelCall call;
  for (int again = 0; again < 2; ++again) {
    REQUIRE(call.read(record));
    REQUIRE(call.parameters.size() == 200);
    for (std::size_t i = 0; i < 200; ++i) {
      REQUIRE(*static_cast<std::uint64_t*>(call.parameters[i]) == i * 3);
    }
  }
}

TEST_CASE("a launch is read back with its grid, parameters, shared memory and attributes") {
  CUlaunchAttribute given{};
  given.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  given.value.priority = -3;
  CUlaunchAttribute attribute{};
  REQUIRE(normalize(given, &attribute));
  auto records = maker();
  const auto record = launch(records, [&](capture::OperationWriter& writer) {
    test::RecordMaker::value(writer, std::uint64_t{0x1122334455667788});
    test::RecordMaker::value(writer, std::uint16_t{77});
    writer.argument_local(4096);
    test::RecordMaker::value(writer, attribute);
  });
  KernelCall call;
  REQUIRE(call.read(record));
  CHECK(call.grid.x == 5);
  CHECK(call.grid.y == 6);
  CHECK(call.grid.z == 7);
  CHECK(call.block.x == 32);
  CHECK(call.block.y == 2);
  CHECK(call.shared_bytes == 4096);
  REQUIRE(call.parameters.size() == 2);
  CHECK(*static_cast<std::uint64_t*>(call.parameters[0]) == 0x1122334455667788);
  CHECK(*static_cast<std::uint16_t*>(call.parameters[1]) == 77);
  REQUIRE(call.attributes.size() == 1);
  CHECK(call.attributes[0].value.priority == -3);
}

TEST_CASE("a launch with attributes is issued as it was called") {
  static CUlaunchConfig issued;
  static CUlaunchAttribute its_attribute;
  static int its_parameter;
  static CUfunction its_function;
  CudaDriver driver;
  driver.cuLaunchKernelEx = [](const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    REQUIRE(config->numAttrs == 1);
    CHECK(extra == nullptr);
    issued = *config;
    its_attribute = config->attrs[0];
    its_function = function;
    its_parameter = *static_cast<const int*>(parameters[0]);
    return CUDA_SUCCESS;
  };
  CUlaunchAttribute given{};
  given.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  given.value.priority = -3;
  CUlaunchAttribute attribute{};
  REQUIRE(normalize(given, &attribute));
  auto records = maker();
  const auto record = records.make(
      OperationKind::kKernel, shape_of({5, 6, 7}, {32, 2, 3}),
      [&](capture::OperationWriter& writer) {
        test::RecordMaker::value(writer, 77);
        writer.argument_local(4096);
        test::RecordMaker::value(writer, attribute);
      },
      0, 1, 0x5000);
  REQUIRE(submit(driver, record, reinterpret_cast<CUstream>(9)) == CUDA_SUCCESS);
  CHECK(its_function == reinterpret_cast<CUfunction>(0x5000));
  CHECK(its_parameter == 77);
  CHECK(its_attribute.id == CU_LAUNCH_ATTRIBUTE_PRIORITY);
  CHECK(its_attribute.value.priority == -3);
  CHECK(issued.hStream == reinterpret_cast<CUstream>(9));
  CHECK(issued.sharedMemBytes == 4096);
  CHECK(std::vector{issued.gridDimX, issued.gridDimY, issued.gridDimZ} == std::vector{5U, 6U, 7U});
  CHECK(std::vector{issued.blockDimX, issued.blockDimY, issued.blockDimZ} == std::vector{32U, 2U, 3U});
}

TEST_CASE("records that are no launches of CUDA are refused") {
  KernelCall call;
  auto records = maker();
  CHECK_FALSE(call.read(launch(records, [](capture::OperationWriter& writer) {
    test::RecordMaker::value(writer, 1);  // no shared memory
  })));
  CHECK_FALSE(call.read(launch(records, [](capture::OperationWriter& writer) {
    writer.argument_local(0);
    test::RecordMaker::value(writer, 1);  // no whole attribute
  })));
  CHECK_FALSE(call.read(records.make(OperationKind::kPointerFill, {4}, [](capture::OperationWriter&) {})));
}

// As graphs compare their arguments: padding and all.
bool same_bytes(const CUlaunchAttribute& one, const CUlaunchAttribute& other) {
  return std::ranges::equal(std::as_bytes(std::span(&one, 1)), std::as_bytes(std::span(&other, 1)));
}

TEST_CASE("equal attributes have equal bytes, whatever lies behind their values") {
  CUlaunchAttribute a, b, x, y;
  std::memset(&a, 0xAA, sizeof(a));
  std::memset(&b, 0x55, sizeof(b));
  a.id = b.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  a.value.clusterDim.x = b.value.clusterDim.x = 2;
  a.value.clusterDim.y = b.value.clusterDim.y = 1;
  a.value.clusterDim.z = b.value.clusterDim.z = 1;
  REQUIRE(normalize(a, &x));
  REQUIRE(normalize(b, &y));
  CHECK(same_bytes(x, y));
  b.value.clusterDim.x = 4;
  REQUIRE(normalize(b, &y));
  CHECK_FALSE(same_bytes(x, y));
}

TEST_CASE("attributes that name an event or a node, and unknown ones, cannot be held") {
  CUlaunchAttribute given{}, result{};
  for (const int id : {int{CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT}, int{CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT},
                       int{CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE}, 4711}) {
    std::memcpy(&given.id, &id, sizeof(id));
    CHECK_FALSE(normalize(given, &result));
  }
}

TEST_CASE("attributes are the same without being normalized exactly if their normalized bytes are") {
  std::mt19937 random(7);
  const auto attributes = [&] {
    std::vector<CUlaunchAttribute> given(random() % 4);
    for (CUlaunchAttribute& attribute : given) {
      std::memset(&attribute, static_cast<int>(random() % 2 * 0xAA), sizeof(attribute));
      const int id = static_cast<int>(random() % 15);  // 0 is to be ignored, and some are not known
      std::memcpy(&attribute.id, &id, sizeof(id));
      reinterpret_cast<std::byte*>(&attribute.value)[random() % 3] = static_cast<std::byte>(random() % 2);
    }
    return given;
  };
  const auto normalized = [](const std::vector<CUlaunchAttribute>& given, bool* known) {
    std::vector<CUlaunchAttribute> result;
    *known = true;
    for (const CUlaunchAttribute& attribute : given) {
      if (id_of(attribute) != CU_LAUNCH_ATTRIBUTE_IGNORE) {
        *known = normalize(attribute, &result.emplace_back()) && *known;
      }
    }
    return result;
  };
  int same = 0;
  for (int round = 0; round < 200000; ++round) {
    const auto one = attributes();
    const auto other = random() % 3 == 0 ? one : attributes();
    bool one_known = false, other_known = false;
    const auto a = normalized(one, &one_known);
    const auto b = normalized(other, &other_known);
    if (!one_known) {
      continue;  // no record has such attributes
    }
    const auto bytes = std::as_bytes(std::span(a));
    const bool expected =
        other_known && a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), bytes.size()) == 0);
    same += expected ? 1 : 0;
    if (same_attributes(other, bytes) != expected) {
      FAIL("round " << round);
    }
  }
  CHECK(same > 10000);
}

}  // namespace refrain::backends
