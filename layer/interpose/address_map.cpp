#include "layer/interpose/address_map.h"

#include <cstring>

#include "env/log.h"

namespace refrain::layer::interpose {
namespace {

// Several functions with one address have the same code. If they are of different classes, the one that does
// most for safety is right for all of them.
int safety(const EntryDescription& description) noexcept {
  if (description.wrapper != nullptr) {
    return 2;
  }
  return description.entry_class == EntryClass::kHost ? 1 : 0;
}

}  // namespace

void AddressMap::add(void* function, std::uint32_t index) {
  known_[function].push_back(index);
}

void AddressMap::add_unknown(void* function, const std::string& name) {
  unknown_.emplace(function, name);
}

std::optional<std::uint32_t> AddressMap::choose(const std::vector<std::uint32_t>& candidates,
                                                const char* wanted) const noexcept {
  const auto entries = stubs_.entries();
  std::optional<std::uint32_t> best;
  for (const std::uint32_t index : candidates) {
    const char* name = entries[index].entry.name;
    if (wanted == nullptr) {
      // Without a name, a wrapper must fit for sure, and so must the promise that the function is neutral.
      if (candidates.size() == 1) {
        return index;
      }
      continue;
    }
    if (is_version_ != nullptr && !is_version_(name, wanted)) {
      continue;
    }
    if (!best || safety(entries[index]) > safety(entries[*best]) ||
        (safety(entries[index]) == safety(entries[*best]) && std::strcmp(name, wanted) == 0)) {
      best = index;
    }
  }
  return best;
}

void* AddressMap::map(void* function, const char* wanted, const std::string& label) noexcept {
  try {
    if (const auto found = known_.find(function); found != known_.end()) {
      if (const auto index = choose(found->second, wanted); index) {
        const bool neutral = stubs_.entries()[*index].entry_class == EntryClass::kNeutral;
        return neutral ? function : stubs_.address(*index);
      }
    }
    if (wanted != nullptr) {
      env::log_debug(std::string(api_) + ": " + label + " is not known to Refrain: a host call");
    }
    const auto named = unknown_.find(function);
    const auto stub = anonymous_.find(function, named != unknown_.end() ? named->second : label);
    return stub ? HostStubs::address(*stub) : nullptr;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace refrain::layer::interpose
