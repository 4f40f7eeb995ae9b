// Code of captures, each built once with the same options: what was refused once is refused again, with the same
// reason.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "capture/definitions.h"

namespace refrain::backends {

/// `Module` is a handle, null for none; who makes them gives them back. Used by one thread. May throw std::bad_alloc.
template <class Module>
class BuiltCode {
 public:
  /// `build(why)` makes the module; null, and why, if the driver refuses.
  template <class Build>
  [[nodiscard]] Module find_or_build(capture::CodeId code, const std::string& options, std::string* why,
                                     Build&& build) {
    const auto [place, fresh] = all_.try_emplace(std::pair(code, options));
    Result& result = place->second;
    if (fresh) {
      result.module = build(&result.why_not);
    }
    if (result.module == nullptr) {
      *why = result.why_not;
    }
    return result.module;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, result] : all_) {
      if (result.module != nullptr) {
        visit(result.module);
      }
    }
  }

 private:
  struct Result {
    Module module = nullptr;
    std::string why_not;
  };
  std::map<std::pair<capture::CodeId, std::string>, Result> all_;
};

}  // namespace refrain::backends
