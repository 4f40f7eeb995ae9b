// Every kind of definition, whatever its structure holds: it comes back from a file, is told once, and is refused where
// it is damaged.
#include "capture/definitions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "capture/file_writer.h"
#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {
namespace {

using format::RecordType;
using Payload = std::vector<std::uint8_t>;

/// Becomes a value for any member of a structure, another one each time. Yes-or-no values are all alike in one
/// structure.
class AnyValue {
 public:
  explicit AnyValue(std::uint64_t first) : number_(first), yes_(first % 2 != 0) {}

  template <typename Member>
  requires std::integral<Member> || std::is_enum_v<Member>
  operator Member() const {  // NOLINT(google-explicit-constructor): of a value that is made in place
    if constexpr (std::is_same_v<Member, bool>) {
      return yes_;
    }
    return static_cast<Member>(std::is_enum_v<Member> ? std::uint64_t{yes_} : number_++);
  }
  operator std::string() const {  // NOLINT(google-explicit-constructor)
    return "text " + std::to_string(number_++);
  }
  operator std::vector<std::uint64_t>() const {  // NOLINT(google-explicit-constructor)
    return {number_++, number_++};
  }

 private:
  mutable std::uint64_t number_;
  bool yes_;
};

/// A structure with another value in each member. The id is `first`.
template <typename Info, typename... Members>
Info filled(const AnyValue& value, const Members&... members) {
  if constexpr (requires { Info{members..., value}; }) {
    return filled<Info>(value, members..., value);
  } else {
    return Info{members...};
  }
}

template <typename Info>
Info filled_from(std::uint64_t first) {
  const AnyValue value(first);
  return filled<Info>(value);
}

/// In the order of their ids.
template <typename Info>
std::vector<Info> read_of(Capture& capture) {
  std::vector<Info> infos;
  for (const auto& known : capture.of<Info>()) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(known)>, Info>) {
      infos.push_back(known);
    } else {
      CHECK(known.first == known.second.id);
      infos.push_back(known.second);
    }
  }
  std::ranges::sort(infos, {}, &Info::id);
  return infos;
}

/// What reading a file with only this record says is wrong with it; empty if nothing is.
std::string problem_of(RecordType type, const Payload& payload) {
  TemporaryFile file;
  std::string error;
  {
    FileWriter writer;
    REQUIRE(writer.open(file.name(), 0600, &error));
    REQUIRE(writer.append(type, payload, &error));
  }
  const bool read = read_capture(file.name(), &error).has_value();
  CHECK(read == error.empty());
  return error;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a definition of any kind comes back from the file, and is told once", "", AllDefinitionKinds) {
  using Info = TestType;
  const std::vector<Info> told{filled_from<Info>(1), filled_from<Info>(100)};
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    recorder->define_all(told);
    Info again = told[1];
    again.id = told[0].id;
    recorder->define(again);
    recorder->flush();
    recorder->define(again);
    recorder->define_all(told);
  }
  Capture capture = load(file.name());
  CHECK(capture.records == 2);  // the first one is about the program
  CHECK(read_of<Info>(capture) == told);
}

TEMPLATE_LIST_TEST_CASE("definitions of any kind are told in several records where one would be too large", "",
                        AllDefinitionKinds) {
  using Info = TestType;
  std::vector<Info> told(20'000);
  for (std::size_t i = 0; i < told.size(); ++i) {
    told[i] = filled_from<Info>(1000 * (i + 1));
  }
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    recorder->define_all(told);
  }
  Capture capture = load(file.name());
  CHECK(capture.records > 2);
  CHECK(read_of<Info>(capture) == told);
}

TEMPLATE_LIST_TEST_CASE("a damaged definition of any kind is refused", "", AllDefinitionKinds) {
  using Info = TestType;
  const std::vector<Info> told{filled_from<Info>(1), filled_from<Info>(100)};
  RecordType type{};
  Payload good;
  encode_definitions(told, [&](RecordType its_type, std::span<const std::uint8_t> payload) {
    type = its_type;
    good.assign(payload.begin(), payload.end());
  });
  CHECK(problem_of(type, good).empty());
  const auto refused = [&](const Payload& payload) {
    const std::string problem = problem_of(type, payload);
    CHECK((problem.empty() || problem.find("offset 48") != std::string::npos));
    return !problem.empty();
  };
  CHECK(refused({}));
  CHECK(refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() / 2)}));
  std::size_t noticed = 0;
  for (std::size_t place = 0; place < good.size(); ++place) {
    Payload bad = good;
    bad[place] ^= 0xFF;
    noticed += refused(bad) ? 1 : 0;  // a number may be any other one
  }
  CHECK(noticed > 4);
}

}  // namespace refrain::capture
