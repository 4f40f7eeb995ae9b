// From the driver's addresses to those that the application gets.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace refrain::layer::cuda {

class AddressMap {
 public:
  /// `function` is what the driver exports under the name of entry `index`. Before the first map().
  void add(void* function, std::uint32_t index);
  /// `function` is exported under a name that is in no list.
  void add_unknown(void* function, const std::string& name);

  /// What the application gets instead of `function`, which the driver handed out for `wanted` (a name without
  /// version, as cuGetProcAddress takes it; null: no name is known, a table's entry). A NEUTRAL function is
  /// handed out as it is. A function that is not known, or not by this name, gets an anonymous HOST stub, always
  /// the same one; `label` names it in explanations. Thread-safe.
  void* map(void* function, const char* wanted, const std::string& label) noexcept;

  /// Functions that got an anonymous stub so far.
  [[nodiscard]] std::size_t anonymous() noexcept;

 private:
  void* anonymous_stub(void* function, const std::string& label);

  std::unordered_map<void*, std::vector<std::uint32_t>> known_;
  std::unordered_map<void*, std::string> unknown_;
  std::mutex mutex_;
  std::unordered_map<void*, void*> anonymous_;
};

/// The one of this process; never destroyed.
AddressMap& address_map() noexcept;

/// Whether entry `name` is a version of what cuGetProcAddress calls `wanted`: cuMemAlloc_v2 of cuMemAlloc,
/// cuStreamQuery_ptsz of cuStreamQuery, but not cuMemAllocHost.
[[nodiscard]] bool is_version_of(const char* name, const char* wanted) noexcept;

}  // namespace refrain::layer::cuda
