// The device on which `refrain bench` makes the objects of a capture again: captures come from anywhere.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/standalone_device.h"
#include "backends/streams/operation.h"
#include "test/backends/record_maker.h"

namespace {

using namespace refrain;
using test::RecordMaker;

std::string image(const char* form) {
  std::ifstream file(std::string(IMAGES) + form, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  REQUIRE(!bytes.empty());
  return bytes;
}

struct Opened {
  Opened() {
    backends::DeviceChoice choice;
    choice.library = SIM_HIP;
    device = backends::open_standalone_device("hip", choice, &why);
    INFO(why);
    REQUIRE(device != nullptr);
  }
  /// Each of another program: what was refused once is refused again without being looked at.
  capture::Handle function(const std::string& name, const std::string& code,
                           capture::CodeKind kind = capture::CodeKind::kBinary) {
    why.clear();
    const capture::FunctionInfo wanted{++functions, functions, name, ""};
    return device->make_function(wanted, kind, std::as_bytes(std::span(code)), &why);
  }
  /// A launch of scale(), which has a pointer and three words, with so many words; `more`: what else its record has.
  std::vector<std::byte> launch(capture::Handle function, int words, const std::vector<std::uint64_t>& more = {}) {
    const auto view = records.make(
        capture::OperationKind::kKernel, backends::shape_of({1, 1, 1}, {32, 1, 1}),
        [&](capture::OperationWriter& writer) {
          RecordMaker::value(writer, std::uint64_t{0x1000});
          for (int i = 0; i < words; ++i) {
            RecordMaker::value(writer, std::uint32_t{3});
          }
          writer.argument_local(16);
          for (const std::uint64_t value : more) {
            RecordMaker::value(writer, value);
          }
        },
        0, 1, function);
    return {view.bytes().begin(), view.bytes().end()};
  }
  bool fits(std::vector<std::byte> record) {
    why.clear();
    device->adapt(&record);
    return device->fits(capture::OperationView(record.data()), &why);
  }

  std::string why;
  capture::FunctionId functions = 0;
  RecordMaker records{capture::QueueInfo{}};
  std::unique_ptr<backends::StandaloneDevice> device;
};

}  // namespace

TEST_CASE_METHOD(Opened, "a launch is run only if it has the arguments of its kernel, neither more nor fewer") {
  for (const char* form : {"elf", "bundle"}) {
    const capture::Handle scale = function("scale", image(form));
    INFO(why);
    REQUIRE(scale != 0);
    CHECK(fits(launch(scale, 3)));
    for (const int words : {2, 4}) {
      CHECK_FALSE(fits(launch(scale, words)));
      CHECK(why == "its arguments are not those of the captured kernel");
    }
    CHECK_FALSE(fits(launch(scale, 3, {2})));
    CHECK(why == "the capture does not hold the launch's arguments");
    CHECK_FALSE(fits(launch(scale, 3, {1, 1})));
  }
}

TEST_CASE_METHOD(Opened, "a launch of the program's own function becomes one of the module's") {
  const capture::Handle scale = function("scale", image("bundle"));
  std::vector<std::byte> record = launch(scale, 3, {1});
  CHECK(fits(record));
  device->adapt(&record);
  REQUIRE(capture::OperationView::well_formed(record));
  const std::vector<std::byte> of_module = launch(scale, 3);
  const capture::OperationView made(record.data());
  const capture::OperationView wanted(of_module.data());
  CHECK(made.header().size == wanted.header().size);
  CHECK(same_work(made, wanted));
}

TEST_CASE_METHOD(Opened, "code that cannot be used is refused, with the reason") {
  CHECK(function("no such kernel", image("elf")) == 0);
  CHECK(why == "the captured code has no kernel 'no such kernel'");
  CHECK(function("scale", image("foreign")) == 0);
  CHECK_THAT(why, Catch::Contains("made for another GPU: it has no code object for Simulated HIP device"));
  CHECK(function("scale", image("other")) == 0);
  CHECK(why == "the captured code does not tell the parameters of the kernel 'scale'");
  const std::string damaged = "the captured code is damaged: it is neither a code object nor a bundle of them";
  for (const char* form : {"elf", "bundle"}) {
    const std::string whole = image(form);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{10}, std::size_t{60}, whole.size() / 2, whole.size() - 4}) {
      CAPTURE(form, size);
      CHECK(function("scale", whole.substr(0, size)) == 0);
      CHECK(why == damaged);
    }
  }
  CHECK(function("scale", image("compressed")) == 0);
  CHECK(why == damaged);
  CHECK(function("scale", image("elf"), capture::CodeKind::kIntermediate) == 0);
  CHECK(why == damaged);
}

TEST_CASE_METHOD(Opened, "rows are copied within the device's memory only, as they are recorded") {
  capture::BufferInfo wanted;
  wanted.size = 4096;
  const capture::Handle of_device = device->make_memory(wanted, 0, &why);
  wanted.description = {static_cast<std::uint64_t>(capture::MemoryPlace::kHost), 0};
  const capture::Handle of_host = device->make_memory(wanted, 0, &why);
  REQUIRE(of_device != 0);
  REQUIRE(of_host != 0);
  const auto copy = [&](capture::Handle to, capture::Handle from) {
    const capture::words::PointerCopyRect rows{.row_bytes = 8,
                                               .rows = 2,
                                               .slices = 1,
                                               .to_pitch = 16,
                                               .to_rows = 2,
                                               .from_pitch = 8,
                                               .from_rows = 2,
                                               .blocking = 0};
    const auto view =
        records.make(capture::OperationKind::kPointerCopyRect, rows, [&](capture::OperationWriter& writer) {
          writer.argument_handle(capture::ArgumentKind::kPointer, 1, to);
          writer.argument_handle(capture::ArgumentKind::kPointer, 2, from);
        });
    return std::vector<std::byte>(view.bytes().begin(), view.bytes().end());
  };
  CHECK(fits(copy(of_device, of_device + 2048)));
  for (const auto& record : {copy(of_device, of_host), copy(of_host, of_device)}) {
    CHECK_FALSE(fits(record));
    CHECK_THAT(why, Catch::Contains("it copies rows from or to the host"));
  }
}

TEST_CASE_METHOD(Opened, "memory of every place, and streams of every order") {
  for (const auto place :
       {capture::MemoryPlace::kDevice, capture::MemoryPlace::kHost, capture::MemoryPlace::kManaged}) {
    capture::BufferInfo wanted;
    wanted.size = 4096;
    wanted.description = {static_cast<std::uint64_t>(place), 0};
    CHECK(device->make_memory(wanted, 0, &why) != 0);
  }
  capture::QueueInfo made;
  for (const auto order :
       {capture::DefaultOrder::kNone, capture::DefaultOrder::kWithDefault, capture::DefaultOrder::kIsDefault}) {
    capture::QueueInfo wanted;
    wanted.id = 1 + static_cast<capture::ObjectId>(order);
    wanted.default_order = order;
    REQUIRE(device->make_queue(wanted, &made, &why));
    CHECK(made.id == wanted.id);
    CHECK(made.handle != 0);
  }
  device->release_memory();
}
