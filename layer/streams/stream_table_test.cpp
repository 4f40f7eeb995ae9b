// What is known of streams: which of them are there, and what setters have set of them.
#include "layer/streams/stream_table.h"

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::streams {
namespace {

using test::Rig;
using test::State;
using test::TestLayer;

TEST_CASE("a stream that was destroyed is not found any more, not even by who used it last") {
  Rig rig;
  const State& stream = Rig::stream();
  const auto handle = stream.stream.handle;
  const std::uint64_t key = handle_of(handle);
  REQUIRE(find_known_stream<TestLayer>(key) == &stream);
  REQUIRE(StreamTable<TestLayer>::all().destroy_stream(test::kHostCall, handle, [] { return 0; }) == 0);
  CHECK(find_known_stream<TestLayer>(key) == nullptr);
}

TEST_CASE("whatever is set of a stream after all its attributes were copied is something else than before",
          "[promise-4]") {
  Rig rig;
  State& stream = Rig::stream();
  using Setting = Setters<TestLayer>;
  const auto set = [&](std::uint64_t what, SetValue value) {
    REQUIRE(Setting::all().of_stream(test::kHostCall, &stream, what, value, [] { return 0; }) == 0);
    return stream.token_seed.load();
  };
  const Token first = set(3, 1);
  CHECK(set(3, 2) != first);
  CHECK(set(3, 1) == first);
  const Token copied = set(Setting::kAllAttributes, {});
  CHECK(copied != first);
  CHECK(set(3, 1) != copied);
}

TEST_CASE("a stream that is seen for the first time may have attributes if those of an unknown one were set",
          "[promise-4]") {
  struct Layer : TestLayer {};  // its table knows of no setters yet
  Rig rig;
  const auto has_attributes = [] {
    auto* const handle = test::new_handle<test::StreamTag>();
    const State* stream =
        StreamTable<Layer>::all().adopt(handle_of(handle), handle, backends::StreamKind::kNonBlocking);
    REQUIRE(stream != nullptr);
    return stream->stream.attributes.load();
  };
  CHECK_FALSE(has_attributes());
  REQUIRE(Setters<Layer>::all().of_stream(test::kHostCall, nullptr, 3, 1, [] { return 0; }) == 0);
  CHECK(has_attributes());
}

}  // namespace
}  // namespace refrain::layer::streams
