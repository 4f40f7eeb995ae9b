#include "backends/spirv_contents.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace {

using refrain::backends::contents_of_spirv;
using refrain::backends::ModuleContents;

constexpr std::uint32_t kCrossWorkgroup = 5;
constexpr std::uint32_t kExport = 0;
constexpr std::uint32_t kImport = 1;

/// A module, instruction by instruction.
struct Module {
  std::vector<std::uint32_t> words = {0x07230203, 0x00010200, 0, 100, 0};

  Module& add(std::uint32_t opcode, std::initializer_list<std::uint32_t> before, const char* text = nullptr,
              std::initializer_list<std::uint32_t> after = {}) {
    const std::size_t start = words.size();
    words.push_back(opcode);
    words.insert(words.end(), before);
    if (text != nullptr) {
      const std::size_t bytes = std::strlen(text) + 1;
      const std::size_t at = words.size();
      words.resize(at + (bytes + 3) / 4);
      std::memcpy(&words[at], text, bytes);
    }
    words.insert(words.end(), after);
    words[start] |= static_cast<std::uint32_t>(words.size() - start) << 16U;
    return *this;
  }
  Module& variable(std::uint32_t id, std::uint32_t storage) { return add(59, {1, id, storage}); }
  Module& linkage(std::uint32_t id, const char* name, std::uint32_t type) { return add(71, {id, 41}, name, {type}); }
  [[nodiscard]] ModuleContents contents() const { return contents_of_spirv(std::as_bytes(std::span(words))); }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("variables that kernels may write are found by the names that the driver knows") {
  Module module;
  module.linkage(7, "calls", kExport).linkage(8, "four", kExport).linkage(9, "table", kExport);
  module.variable(7, kCrossWorkgroup).variable(8, kCrossWorkgroup).variable(9, 0).variable(10, 7).variable(11, 4);
  const ModuleContents found = module.contents();
  CHECK(found.known);
  CHECK(found.variables == Names{"calls", "four"});
  CHECK_FALSE(found.unnamed_variables);
  CHECK_FALSE(found.prints);
}

TEST_CASE("variables that are not exported have no name that the driver knows") {
  CHECK(Module().add(5, {7}, "hidden").variable(7, kCrossWorkgroup).contents().unnamed_variables);
  CHECK(Module().linkage(7, "other", kImport).variable(7, kCrossWorkgroup).contents().unnamed_variables);
  CHECK(Module().linkage(8, "another", kExport).variable(7, kCrossWorkgroup).contents().unnamed_variables);
  CHECK(Module().variable(7, 5936).contents().unnamed_variables);  // DeviceOnlyINTEL
  CHECK_FALSE(Module().contents().unnamed_variables);
}

TEST_CASE("what prints is known by OpenCL's instruction alone") {
  const auto prints = [](const char* set, std::uint32_t number) {
    return Module().add(11, {3}, set).add(12, {1, 20, 3, number, 21}).contents().prints;
  };
  CHECK(prints("OpenCL.std", 184));
  CHECK_FALSE(prints("OpenCL.std", 183));
  CHECK_FALSE(prints("OpenCL.DebugInfo.100", 184));
}

TEST_CASE("specialization constants have the sizes of their types") {
  using refrain::backends::SpecializationConstant;
  Module module;
  for (const std::uint32_t result : {20U, 21U, 22U, 23U, 24U}) {
    module.add(71, {result, 1, result + 100});  // SpecId
  }
  module.add(20, {1}).add(21, {2, 32, 0}).add(21, {3, 64, 0}).add(22, {4, 16}).add(21, {5, 128, 0});
  module.add(48, {1, 20}).add(50, {2, 21, 7}).add(50, {3, 22, 7, 0}).add(50, {4, 23, 7}).add(50, {5, 24, 7, 0, 0, 0});
  module.add(50, {2, 25, 7});  // without a number
  CHECK(module.contents().constants == std::vector<SpecializationConstant>{{120, 1}, {121, 4}, {122, 8}, {123, 2}});
  for (const std::uint32_t opcode : {21U, 22U, 48U, 49U, 50U}) {
    CHECK_FALSE(Module().add(opcode, {1}).contents().known);
  }
  CHECK_FALSE(Module().add(71, {20, 1}).contents().known);
}

TEST_CASE("parameters of kernels that are images or samplers are known") {
  Module module;
  module.add(15, {6, 30}, "draw", {40}).add(15, {6, 31}, "add");
  module.add(21, {1, 32, 0}).add(26, {2}).add(25, {3, 1, 1, 0, 0, 0, 0, 0});
  module.add(54, {9, 30, 0, 8}).add(55, {1, 41}).add(55, {3, 42}).add(55, {2, 43}).add(54, {9, 31, 0, 8});
  module.add(55, {1, 44}).add(54, {9, 32, 0, 8}).add(55, {2, 45});
  const ModuleContents found = module.contents();
  REQUIRE(found.handles.size() == 2);
  CHECK(found.handles.at("draw") == std::vector<bool>{false, true, true});
  CHECK(found.handles.at("add") == std::vector<bool>{false});
  for (const std::uint32_t opcode : {15U, 25U, 26U, 27U, 54U, 55U}) {
    CHECK_FALSE(Module().add(opcode, {}).contents().known);
  }
}

TEST_CASE("what is no SPIR-V, or breaks off, is not known") {
  const auto known = [](const std::vector<std::uint32_t>& words) {
    return contents_of_spirv(std::as_bytes(std::span(words))).known;
  };
  Module module;
  module.add(11, {3}, "OpenCL.std").linkage(7, "calls", kExport).variable(7, kCrossWorkgroup);
  REQUIRE(known(module.words));
  CHECK_FALSE(contents_of_spirv({}).known);
  CHECK_FALSE(known({0x03022307, 0x00010200, 0, 100, 0}));
  for (std::size_t words = 0; words < module.words.size(); ++words) {
    const std::vector<std::uint32_t> part(module.words.begin(), module.words.begin() + static_cast<long>(words));
    const bool whole = words == 5 || words == 10 || words == 16;  // between instructions
    CAPTURE(words);
    CHECK(known(part) == whole);
  }
  CHECK_FALSE(contents_of_spirv(std::as_bytes(std::span(module.words)).first(21)).known);
  std::vector<std::uint32_t> endless = Module().words;
  endless.push_back(0);
  CHECK_FALSE(known(endless));
  std::vector<std::uint32_t> unending = Module().add(11, {3}, "OpenCL.std").words;
  unending.back() = 0x41414141;
  CHECK_FALSE(known(unending));
  for (const std::uint32_t opcode : {11U, 12U, 59U, 71U}) {
    CHECK_FALSE(Module().add(opcode, {}).contents().known);
  }
  CHECK_FALSE(Module().add(71, {7, 41}, "calls").contents().known);
}
