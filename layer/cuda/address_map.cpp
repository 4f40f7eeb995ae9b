#include "layer/cuda/address_map.h"

#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

#include "env/log.h"
#include "layer/cuda/layer.h"
#include "layer/cuda/stubs.h"
#include "layer/immortal.h"

namespace refrain::layer::cuda {
namespace {

// Several functions with one address have the same code. If they are of different classes, the one that does
// most for safety is right for all of them.
int safety(const EntryDescription& description) noexcept {
  if (description.wrapper != nullptr) {
    return 2;
  }
  return description.entry_class == EntryClass::kHost ? 1 : 0;
}

std::optional<std::uint32_t> choose(const std::vector<std::uint32_t>& candidates, const char* wanted) noexcept {
  const auto descriptions = entry_descriptions();
  std::optional<std::uint32_t> best;
  for (const std::uint32_t index : candidates) {
    const char* name = descriptions[index].entry.name;
    if (wanted == nullptr) {
      // Without a name, a wrapper must fit for sure, and so must the promise that the function is neutral.
      if (candidates.size() == 1) {
        return index;
      }
      continue;
    }
    if (!is_version_of(name, wanted)) {
      continue;
    }
    if (!best || safety(descriptions[index]) > safety(descriptions[*best]) ||
        (safety(descriptions[index]) == safety(descriptions[*best]) && std::strcmp(name, wanted) == 0)) {
      best = index;
    }
  }
  return best;
}

}  // namespace

bool is_version_of(const char* name, const char* wanted) noexcept {
  std::string_view rest(name);
  if (!rest.starts_with(wanted)) {
    return false;
  }
  rest.remove_prefix(std::strlen(wanted));
  if (rest.size() >= 3 && rest.starts_with("_v") && std::isdigit(static_cast<unsigned char>(rest[2])) != 0) {
    rest.remove_prefix(3);
    while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
      rest.remove_prefix(1);
    }
  }
  return rest.empty() || rest == "_ptsz" || rest == "_ptds";
}

void AddressMap::add(void* function, std::uint32_t index) {
  known_[function].push_back(index);
}

void AddressMap::add_unknown(void* function, const std::string& name) {
  unknown_.emplace(function, name);
}

void* AddressMap::map(void* function, const char* wanted, const std::string& label) noexcept {
  try {
    if (const auto found = known_.find(function); found != known_.end()) {
      if (const auto index = choose(found->second, wanted); index) {
        const bool neutral = entry_descriptions()[*index].entry_class == EntryClass::kNeutral;
        return neutral ? function : stub_address(*index);
      }
    }
    const auto named = unknown_.find(function);
    if (wanted != nullptr) {
      env::log_debug("CUDA: " + label + " is not known to Refrain: a host call");
    }
    return anonymous_stub(function, named != unknown_.end() ? named->second : label);
  } catch (...) {
    on_stubs_exhausted();
    return function;
  }
}

void* AddressMap::anonymous_stub(void* function, const std::string& label) {
  const std::lock_guard guard(mutex_);
  void*& stub = anonymous_[function];
  if (stub == nullptr) {
    stub = take_anonymous_stub(function, label.c_str());
    if (stub == nullptr) {
      on_stubs_exhausted();
      stub = function;
    }
  }
  return stub;
}

std::size_t AddressMap::anonymous() noexcept {
  const std::lock_guard guard(mutex_);
  return anonymous_.size();
}

AddressMap& address_map() noexcept {
  static Immortal<AddressMap> instance;
  return *instance;
}

}  // namespace refrain::layer::cuda
