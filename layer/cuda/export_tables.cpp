#include "layer/cuda/export_tables.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "env/log.h"
#include "env/mutex.h"
#include "layer/cuda/real_library.h"
#include "layer/elf_exports.h"
#include "layer/immortal.h"

namespace refrain::layer::cuda {
namespace {

constexpr std::uint64_t kLongestTable = 64U << 10U;

// Tables that are handed out as they are.
constexpr const char* kUntouched[] = {
    // Storage of values by context; asked for in nearly every call of the runtime API. Knows nothing of work.
    "c693336e-1121-df11-a8c3-68f355d89593",
    // The runtime's test of the driver, and the runtime's own interface (modules from cubins, primary contexts),
    // whose addresses that test is said to include: with copies every call of the runtime API might fail with
    // cudaErrorSoftwareValidityNotEstablished.
    "d4082055-bde6-704b-8d34-ba123c66e1f2",
    "6bd5fb6c-5bf4-e74a-8987-d93912fd9df9",
    // Storage of values by thread, hooks for tools, the test of a context: asked for at each launch of the runtime.
    "42d85a81-23f6-cb47-8298-f6e78a3aecdc",
    "a094798c-2e74-2e74-93f2-0800200c0a66",
    "263e8860-7cd2-6143-92f6-bbd5006dfa7e",
};

// Entries that only read a number from an object, as the driver's code shows, in a table whose others are
// watched. The runtime asks for a context's number before each launch of a kernel with attributes.
struct NeutralEntry {
  const char* table;
  std::size_t index;
};
constexpr NeutralEntry kNeutralEntries[] = {
    {"21318c60-9714-3248-8ca6-41ff7324c8f2", 3},
    {"21318c60-9714-3248-8ca6-41ff7324c8f2", 4},
    {"21318c60-9714-3248-8ca6-41ff7324c8f2", 5},
};

bool neutral(const std::string& table, std::size_t index) noexcept {
  return std::any_of(std::begin(kNeutralEntries), std::end(kNeutralEntries),
                     [&](const NeutralEntry& entry) { return entry.index == index && table == entry.table; });
}

// The length in bytes, which most tables start with; 0 if this one does not.
std::uint64_t length_of(const void* table) noexcept {
  const Segments data(table, Segments::Kind::kAll);
  if (!data.contains(table, sizeof(std::uint64_t))) {
    return 0;
  }
  std::uint64_t length = 0;
  std::memcpy(&length, table, sizeof(length));
  const bool plausible = length % 8 == 0 && length >= 16 && length <= kLongestTable;
  return plausible && data.contains(table, length) ? length : 0;
}

const void* copy_of(const void* table, const std::string& name) {
  const std::uint64_t length = length_of(table);
  if (length == 0) {
    env::log_debug("CUDA: the driver's table " + name + " does not tell its length; what it has is not watched");
    return table;
  }
  const Segments code(table, Segments::Kind::kExecutable);
  const std::size_t count = length / sizeof(void*);
  auto* copy = new void*[count];  // for ever: programs keep the address
  std::memcpy(copy, table, length);
  std::size_t functions = 0;
  for (std::size_t index = 1; index < count; ++index) {
    if (code.contains(copy[index], 1) && !neutral(name, index)) {
      ++functions;
      copy[index] =
          real_library.address_for_program(copy[index], nullptr, "table " + name + " entry " + std::to_string(index));
    }
  }
  env::log_debug("CUDA: the " + std::to_string(functions) + " functions of the driver's table " + name +
                 " are host calls, unless it exports them");
  return copy;
}

}  // namespace

bool is_profilers_table(const CUuuid& id) noexcept {
  // 2c8e0ad8-0710-ab4e-90dd-54719fe5f74b: what CUPTI 13.0 asks for first, and not before somebody subscribes, enables
  // an activity or registers for records. Loading the library and asking for its version or the time do not.
  constexpr unsigned char kTable[] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
                                      0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
  static_assert(sizeof(kTable) == sizeof(id.bytes));
  return std::memcmp(id.bytes, kTable, sizeof(kTable)) == 0;
}

std::string table_name(const CUuuid& id) {
  std::string text;
  for (std::size_t index = 0; index < sizeof(id.bytes); ++index) {
    char digits[8];
    std::snprintf(digits, sizeof(digits), "%s%02x", index == 4 || index == 6 || index == 8 || index == 10 ? "-" : "",
                  static_cast<unsigned>(static_cast<unsigned char>(id.bytes[index])));
    text += digits;
  }
  return text;
}

const void* watched_table(const void* table, const CUuuid& id) noexcept {
  static Immortal<env::Mutex> mutex;
  static Immortal<std::unordered_map<const void*, const void*>> copies REFRAIN_GUARDED_BY(*mutex);
  try {
    const std::string name = table_name(id);
    if (std::find(std::begin(kUntouched), std::end(kUntouched), name) != std::end(kUntouched)) {
      return table;
    }
    const env::MutexLock guard(*mutex);
    const auto [place, is_new] = copies->emplace(table, table);
    if (is_new) {
      place->second = copy_of(table, name);
    }
    return place->second;
  } catch (...) {
    return table;  // out of memory; what the table has is not watched
  }
}

}  // namespace refrain::layer::cuda
