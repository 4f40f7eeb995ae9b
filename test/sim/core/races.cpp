#include "test/sim/core/races.h"

#include <iterator>
#include <map>

#include "test/sim/core/history.h"

namespace sim {
namespace {

/// Bytes that the same operations used: the last write, and the reads since that are not before each other.
struct Cell {
  Address end = 0;
  Place write;
  std::vector<Place> reads;
};

using Cells = std::map<Address, Cell>;
Cells& cells() noexcept {
  static Cells& all = *new Cells;
  return all;
}

/// Cuts the cell that `address` lies in; the result is the first one that starts there or later.
Cells::iterator cut(Address address) {
  Cells& all = cells();
  const auto next = all.lower_bound(address);
  if (next == all.begin() || (next != all.end() && next->first == address)) {
    return next;
  }
  const auto before = std::prev(next);
  if (before->second.end <= address) {
    return next;
  }
  Cell rest = before->second;
  before->second.end = address;
  return all.emplace_hint(next, address, std::move(rest));
}

void report(const Access& access, const Place& self, const char* name, const Place& other, bool other_writes) {
  violation_of({other.number, self.number},
               "race: %s (operation %llu) %s %zu bytes at %llx, which operation %llu %s, and nothing orders the two",
               name, static_cast<unsigned long long>(self.number), access.write ? "writes" : "reads", access.bytes,
               access.start, static_cast<unsigned long long>(other.number), other_writes ? "writes" : "reads");
}

/// What of the cell races with the access, told once for each access.
bool races(const Cell& cell, const Access& access, const Past& past, const Place& self, const char* name) {
  if (cell.write.number != self.number && !past.contains(cell.write)) {
    report(access, self, name, cell.write, true);
    return true;
  }
  if (access.write) {
    for (const Place& read : cell.reads) {
      if (read.number != self.number && !past.contains(read)) {
        report(access, self, name, read, false);
        return true;
      }
    }
  }
  return false;
}

void write(const Access& access, const Past& past, const Place& self, const char* name) {
  const Address end = access.start + access.bytes;
  auto cell = cut(access.start);
  const auto last = cut(end);
  cell = cells().lower_bound(access.start);
  for (bool told = false; cell != last; cell = cells().erase(cell)) {
    told = told || races(cell->second, access, past, self, name);
  }
  cells().emplace_hint(last, access.start, Cell{end, self, {}});
}

void read(const Access& access, const Past& past, const Place& self, const char* name) {
  const Address end = access.start + access.bytes;
  cut(access.start);
  cut(end);
  bool told = false;
  Address at = access.start;
  for (auto cell = cells().lower_bound(at); at < end; ++cell) {
    if (cell == cells().end() || cell->first > at) {  // bytes that nobody has used
      const Address until = cell == cells().end() ? end : std::min(end, cell->first);
      cell = cells().emplace_hint(cell, at, Cell{until, {}, {}});
    } else {
      told = told || races(cell->second, access, past, self, name);
      std::erase_if(cell->second.reads, [&](const Place& each) { return past.contains(each); });
    }
    cell->second.reads.push_back(self);
    at = cell->second.end;
  }
}

}  // namespace

void check_races(const Accesses& accesses, const Past& past, const Place& self, const char* name) {
  for (const Access& access : accesses.all) {
    (access.write ? write : read)(access, past, self, name);
  }
}

void forget_accesses(Address start, std::size_t bytes) {
  if (bytes != 0) {
    cut(start);
    const auto last = cut(start + bytes);
    cells().erase(cells().lower_bound(start), last);
  }
}

}  // namespace sim
