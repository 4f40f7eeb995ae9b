#include "backends/spirv_contents.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace refrain::backends {
namespace {

using Words = std::span<const std::uint32_t>;

// Numbers of the SPIR-V specification.
constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
enum Opcode : std::uint32_t {
  kExtInstImport = 11,
  kExtInst = 12,
  kEntryPoint = 15,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeImage = 25,
  kTypeSampler = 26,
  kTypeSampledImage = 27,
  kSpecConstantTrue = 48,
  kSpecConstantFalse = 49,
  kSpecConstant = 50,
  kFunction = 54,
  kFunctionParameter = 55,
  kVariable = 59,
  kDecorate = 71,
};
constexpr std::uint32_t kSpecId = 1;
constexpr std::uint32_t kLinkageAttributes = 41;
constexpr std::uint32_t kImport = 1;
constexpr std::uint32_t kPrintf = 184;  ///< of OpenCL.std

/// Storage classes that end with a launch, or that kernels only read.
bool is_written_for_good(std::uint32_t storage) noexcept {
  constexpr std::uint32_t kUniformConstant = 0;
  constexpr std::uint32_t kInput = 1;
  constexpr std::uint32_t kWorkgroup = 4;
  constexpr std::uint32_t kPrivate = 6;
  constexpr std::uint32_t kFunction = 7;
  return storage != kUniformConstant && storage != kInput && storage != kWorkgroup && storage != kPrivate &&
         storage != kFunction;
}

/// A literal string: up to a zero byte, which fills a word. `words`: how many it takes; 0: there is none.
std::string text_of(Words operands, std::size_t* words) {
  const std::string_view bytes(reinterpret_cast<const char*>(operands.data()), operands.size_bytes());
  const std::size_t end = bytes.find('\0');
  *words = end == std::string_view::npos ? 0 : end / sizeof(std::uint32_t) + 1;
  return std::string(bytes.substr(0, end));
}

struct Reader {
  ModuleContents found;
  std::unordered_map<std::uint32_t, std::string> exported;  ///< names by id
  std::vector<std::uint32_t> variables;
  std::unordered_set<std::uint32_t> opencl;                         ///< imported sets of instructions
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;         ///< of specialization constants by id of the result
  std::unordered_map<std::uint32_t, std::uint32_t> bits;            ///< of types
  std::unordered_map<std::uint32_t, std::size_t> constants;         ///< their sizes, by id of the result
  std::unordered_map<std::string, std::uint32_t> kernels;           ///< their functions by name
  std::unordered_set<std::uint32_t> handle_types;                   ///< images and samplers
  std::unordered_map<std::uint32_t, std::vector<bool>> parameters;  ///< which are such, by function
  std::uint32_t function = 0;                                       ///< the current one

  /// False: it has too few operands.
  bool read(std::uint32_t opcode, Words operands) {
    std::size_t words = 0;
    switch (opcode) {
      case kExtInstImport:
        if (operands.size() < 2) {
          return false;
        }
        if (text_of(operands.subspan(1), &words) == "OpenCL.std") {
          opencl.insert(operands[0]);
        }
        return words != 0;
      case kExtInst:
        if (operands.size() < 4) {
          return false;
        }
        found.prints = found.prints || (operands[3] == kPrintf && opencl.contains(operands[2]));
        return true;
      case kEntryPoint:
        if (operands.size() < 3) {
          return false;
        }
        kernels[text_of(operands.subspan(2), &words)] = operands[1];
        return words != 0;
      case kTypeImage:
      case kTypeSampler:
      case kTypeSampledImage:
        if (operands.empty()) {
          return false;
        }
        handle_types.insert(operands[0]);
        return true;
      case kFunction:
        if (operands.size() < 2) {
          return false;
        }
        function = operands[1];
        return true;
      case kFunctionParameter:
        if (operands.empty()) {
          return false;
        }
        parameters[function].push_back(handle_types.contains(operands[0]));
        return true;
      case kTypeInt:
      case kTypeFloat:
        if (operands.size() < 2) {
          return false;
        }
        bits[operands[0]] = operands[1];
        return true;
      case kSpecConstantTrue:
      case kSpecConstantFalse:
        if (operands.size() < 2) {
          return false;
        }
        constants[operands[1]] = 1;
        return true;
      case kSpecConstant:
        if (operands.size() < 3) {
          return false;
        }
        if (const auto type = bits.find(operands[0]); type != bits.end()) {
          constants[operands[1]] = type->second / 8;
        }
        return true;
      case kVariable:
        if (operands.size() < 3) {
          return false;
        }
        if (is_written_for_good(operands[2])) {
          variables.push_back(operands[1]);
        }
        return true;
      case kDecorate:
        if (operands.size() < 2) {
          return false;
        }
        if (operands[1] == kSpecId) {
          if (operands.size() < 3) {
            return false;
          }
          numbers[operands[0]] = operands[2];
        }
        if (operands[1] == kLinkageAttributes) {
          std::string name = text_of(operands.subspan(2), &words);
          if (words == 0 || operands.size() < 2 + words + 1) {
            return false;
          }
          if (operands[2 + words] != kImport) {
            exported[operands[0]] = std::move(name);
          }
        }
        return true;
      default: return true;
    }
  }
};

}  // namespace

ModuleContents contents_of_spirv(std::span<const std::byte> module) {
  std::vector<std::uint32_t> words(module.size() / sizeof(std::uint32_t));
  if (words.size() < kHeaderWords) {
    return {};
  }
  std::memcpy(words.data(), module.data(), words.size() * sizeof(std::uint32_t));
  if (words.size() * sizeof(std::uint32_t) != module.size() || words[0] != kMagic) {
    return {};
  }
  Reader reader;
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const std::uint32_t count = words[at] >> 16U;
    if (count == 0 || count > words.size() - at ||
        !reader.read(words[at] & 0xFFFFU, Words(words).subspan(at + 1, count - 1))) {
      return {};
    }
    at += count;
  }
  for (const std::uint32_t variable : reader.variables) {
    if (const auto name = reader.exported.find(variable); name != reader.exported.end()) {
      reader.found.variables.push_back(name->second);
    } else {
      reader.found.unnamed_variables = true;
    }
  }
  for (const auto& [result, bytes] : reader.constants) {
    // No number that programs give is longer.
    if (const auto number = reader.numbers.find(result);
        number != reader.numbers.end() && bytes != 0 && bytes <= sizeof(std::uint64_t)) {
      reader.found.constants.push_back({number->second, bytes});
    }
  }
  std::ranges::sort(reader.found.constants, {}, &SpecializationConstant::id);
  for (const auto& [name, function] : reader.kernels) {
    reader.found.handles[name] = reader.parameters[function];
  }
  reader.found.known = true;
  return reader.found;
}

}  // namespace refrain::backends
