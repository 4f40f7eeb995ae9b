// The device on which `refrain bench` makes the objects of a capture again: captures come from anywhere.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "backends/standalone_device.h"
#include "backends/streams/operation.h"
#include "test/backends/record_maker.h"

namespace {

using namespace refrain;
using test::RecordMaker;

/// Text that the simulated device takes for code; the zero at its end belongs to it.
constexpr std::string_view kCode(".version 8.0\n.target sm_90\n.address_size 64\n\0", 45);

struct Opened {
  Opened() {
    // Who opens the driver by its name finds this one then.
    REQUIRE(dlopen(SIM_CUDA, RTLD_NOW) != nullptr);
    device = backends::open_standalone_device("cuda", {}, &why);
    INFO(why);
    REQUIRE(device != nullptr);
  }
  capture::Handle function(const std::string& name) {
    const capture::FunctionInfo wanted{++functions, 1, name, ""};
    return device->make_function(wanted, capture::CodeKind::kIntermediate, std::as_bytes(std::span(kCode)), &why);
  }
  /// Of a launch of scale(), which has a pointer and three words, with so many words.
  bool fits(capture::Handle function, int words) {
    why.clear();
    return device->fits(records.make(
                            capture::OperationKind::kKernel, backends::shape_of({1, 1, 1}, {32, 1, 1}),
                            [&](capture::OperationWriter& writer) {
                              RecordMaker::value(writer, std::uint64_t{0x1000});
                              for (int i = 0; i < words; ++i) {
                                RecordMaker::value(writer, std::uint32_t{3});
                              }
                              writer.argument_local(0);
                            },
                            0, 1, function),
                        &why);
  }

  std::string why;
  capture::FunctionId functions = 0;
  RecordMaker records{capture::QueueInfo{}};
  std::unique_ptr<backends::StandaloneDevice> device;
};

}  // namespace

TEST_CASE_METHOD(Opened, "a launch is run only if it has the arguments of its kernel, neither more nor fewer") {
  const capture::Handle scale = function("scale");
  INFO(why);
  REQUIRE(scale != 0);
  CHECK(fits(scale, 3));
  CHECK_FALSE(fits(scale, 2));
  CHECK(why == "it has fewer arguments than the captured kernel");
  CHECK_FALSE(fits(scale, 4));
  CHECK(why == "its arguments are not those of the captured kernel");
}

TEST_CASE_METHOD(Opened, "a kernel that the code has not is refused by its name") {
  CHECK(function("no such kernel") == 0);
  CHECK(why == "the captured code has no kernel 'no such kernel'");
}
