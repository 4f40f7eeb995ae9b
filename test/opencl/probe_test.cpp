// What `refrain doctor` learns of a device from a loader.

#include "layer/opencl/probe.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace refrain;

TEST_CASE("a device that lists command buffers without a version has them all the same") {
  setenv("OPENCL_VENDOR_PATH", "/nonexistent", 1);
  // It has the name of the real one, which is not looked for then.
  REQUIRE(dlopen(LOADER_FILE, RTLD_NOW | RTLD_LOCAL) != nullptr);
  const layer::opencl::OpenClProbe probe = layer::opencl::probe_opencl();
  REQUIRE(probe.error.empty());
  REQUIRE(probe.platforms.size() == 1);
  CHECK(probe.platforms[0].name == "plain");
  REQUIRE(probe.platforms[0].devices.size() == 1);
  const layer::opencl::OpenClDevice& device = probe.platforms[0].devices[0];
  CHECK(device.name == "old device");
  CHECK(device.type == "GPU");
  CHECK(device.command_buffer == "unknown");
  CHECK(device.command_buffer_capabilities == std::vector<std::string>{"simultaneous_use"});
  CHECK(device.mutable_dispatch.empty());
}
