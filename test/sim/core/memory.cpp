#include "test/sim/core/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "test/sim/core/history.h"
#include "test/sim/core/races.h"
#include "test/sim/core/settings.h"

namespace sim {
namespace {

constexpr std::size_t kRounding = 256;

/// Addresses come back for the same rounded size and alignment only.
using Class = std::pair<std::size_t, std::size_t>;

struct Memory {
  std::map<Address, Allocation> live;
  std::map<Address, Class> classes;  ///< of what was ever allocated
  std::map<Address, std::size_t> freed;
  std::map<Class, std::vector<Address>> reusable;
  unsigned long long last_id = 0;
};
Memory& memory() noexcept {
  static Memory& all = *new Memory;
  return all;
}

}  // namespace

const Allocation* find_allocation(Address address) {
  auto& live = memory().live;
  auto next = live.upper_bound(address);
  if (next == live.begin()) {
    return nullptr;
  }
  const Allocation& found = std::prev(next)->second;
  return address - found.start < found.bytes ? &found : nullptr;
}

bool within(const Allocation& allocation, Address address, std::size_t bytes) {
  const Allocation* part = &allocation;
  while (part != nullptr && part->accessible && address >= part->start && address - part->start <= part->bytes) {
    const std::size_t here = part->bytes - (address - part->start);
    if (bytes <= here) {
      return true;
    }
    address += here;
    bytes -= here;
    part = part->registered ? find_allocation(address) : nullptr;
  }
  return false;
}

bool was_freed(Address address) {
  auto& freed = memory().freed;
  auto next = freed.upper_bound(address);
  return next != freed.begin() && address - std::prev(next)->first < std::prev(next)->second;
}

bool usable(Address address, std::size_t bytes, const char* by, std::uint64_t number) {
  const Allocation* found = find_allocation(address);
  if (found != nullptr && within(*found, address, bytes)) {
    return true;
  }
  const char* what = found != nullptr && !found->accessible ? "memory without access"
                     : found != nullptr                     ? "memory beyond the end of an allocation"
                     : was_freed(address)                   ? "freed memory"
                                                            : "memory that is not the device's";
  violation_of({number}, "%s (operation %llu) uses %s (%zu bytes at %llx)", by, static_cast<unsigned long long>(number),
               what, bytes, address);
  return false;
}

Address allocate(const void* owner, std::size_t bytes, MemoryType type, std::size_t alignment) {
  const Class wanted{rounded(bytes), std::max(alignment, kRounding)};
  auto& again = memory().reusable[wanted];
  Address address = 0;
  if (!again.empty()) {
    address = again.back();
    again.pop_back();
    memory().freed.erase(address);
  } else {
    const std::size_t whole = (wanted.first + wanted.second - 1) / wanted.second * wanted.second;
    void* made = std::aligned_alloc(wanted.second, std::max(whole, wanted.second));
    if (made == nullptr) {
      return 0;
    }
    std::memset(made, 0xA5, wanted.first);
    address = address_of(made);
    memory().classes[address] = wanted;
  }
  forget_accesses(address, wanted.first);
  memory().live[address] = {address, bytes, ++memory().last_id, type, owner, false};
  return address;
}

void allocate_again(const void* owner, Address start, std::size_t bytes) {
  forget_accesses(start, rounded(bytes));
  memory().live[start] = {start, bytes, ++memory().last_id, MemoryType::kDevice, owner, false};
}

std::vector<Allocation*> allocations_in_order() {
  std::vector<Allocation*> found;
  for (auto& [start, allocation] : memory().live) {
    if (allocation.in_order) {
      found.push_back(&allocation);
    }
  }
  return found;
}

std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + kRounding - 1) / kRounding * kRounding;
}

void set_accessible(Address start, std::size_t bytes, bool accessible) {
  for (auto each = memory().live.lower_bound(start); each != memory().live.end() && each->first - start < bytes;
       ++each) {
    each->second.accessible = accessible || !each->second.registered;
  }
}

bool register_memory(const void* owner, Address start, std::size_t bytes, MemoryType type) {
  auto next = memory().live.lower_bound(start);
  if (bytes == 0 || find_allocation(start) != nullptr || (next != memory().live.end() && next->first - start < bytes)) {
    return false;
  }
  memory().freed.erase(start);
  memory().live[start] = {start, bytes, ++memory().last_id, type, owner, true};
  return true;
}

void release(Address start) {
  const auto found = memory().live.find(start);
  const bool registered = found->second.registered;
  forget_accesses(start, found->second.bytes);
  memory().live.erase(found);
  if (registered) {
    return;  // it is the program's, and may be pageable memory again
  }
  const Class of = memory().classes.at(start);
  memory().freed[start] = of.first;
  std::memset(host(start), 0xDD, of.first);
  if (reuses_addresses()) {
    memory().reusable[of].push_back(start);
  }
}

void release_all(const void* owner) {
  std::vector<Address> gone;
  for (const auto& [start, allocation] : memory().live) {
    if (allocation.owner == owner) {
      gone.push_back(start);
    }
  }
  std::for_each(gone.begin(), gone.end(), &release);
}

}  // namespace sim
