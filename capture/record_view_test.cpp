#include "capture/record_view.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::capture {
namespace {

TEST_CASE("no part of a record is used more than once") {
  flatbuffers::FlatBufferBuilder builder;
  const auto numbers = builder.CreateVector(std::vector<std::uint32_t>(16, 7));
  const auto name = builder.CreateString("a name of some bytes");
  const auto* vector = flatbuffers::GetTemporaryPointer(builder, numbers);
  const auto* text = flatbuffers::GetTemporaryPointer(builder, name);
  const std::span raw(reinterpret_cast<const std::byte*>(builder.GetCurrentBufferPointer()), builder.GetSize());

  RecordView record(0, raw);
  CHECK(record.count(vector) == 16);
  CHECK(record.text(text) == "a name of some bytes");
  CHECK_THROWS_AS(record.count(vector), Refused);

  RecordView again(0, raw);
  const auto read_for_ever = [&] {
    for (int i = 0; i < 1000; ++i) {
      static_cast<void>(again.text(text));
    }
  };
  CHECK_THROWS_AS(read_for_ever(), Refused);
}

}  // namespace
}  // namespace refrain::capture
