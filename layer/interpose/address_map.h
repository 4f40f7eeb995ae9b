// From a library's addresses to those that the program gets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "layer/interpose/anonymous_stubs.h"
#include "layer/interpose/entry_point.h"
#include "layer/interpose/stub_table.h"

namespace refrain::layer::interpose {

/// Whether the function called `name` is one that a program may get by looking up `wanted`.
using IsVersion = bool (*)(const char* name, const char* wanted) noexcept;

class AddressMap {
 public:
  /// `api`: for people. `is_version` null: of functions that share an address any is right.
  AddressMap(const StubTable& stubs, const char* api, IsVersion is_version) noexcept
      : stubs_(stubs), api_(api), is_version_(is_version) {}

  /// `function` is what the library exports under the name of entry `index`. Before the first map().
  void add(void* function, std::uint32_t index);
  /// `function` is exported under a name that is in no list.
  void add_unknown(void* function, const std::string& name);
  /// Whether it is exported under a name of the list.
  [[nodiscard]] bool knows(void* function) const noexcept { return known_.contains(function); }

  /// What the program gets instead of `function`, which the library handed out for `wanted` (a name without version;
  /// null: no name is known, a table's entry). A NEUTRAL function is handed out as it is. A function that is not known,
  /// or not by this name, gets an anonymous stub, always the same one; `label` names it in explanations. Null: it can't
  /// be watched. Thread-safe.
  [[nodiscard]] void* map(void* function, const char* wanted, const std::string& label) noexcept;

 private:
  [[nodiscard]] std::optional<std::uint32_t> choose(const std::vector<std::uint32_t>& candidates,
                                                    const char* wanted) const noexcept;

  const StubTable& stubs_;
  const char* const api_;
  const IsVersion is_version_;
  std::unordered_map<void*, std::vector<std::uint32_t>> known_;
  std::unordered_map<void*, std::string> unknown_;
  AnonymousStubs anonymous_;
};

}  // namespace refrain::layer::interpose
