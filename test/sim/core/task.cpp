#include "test/sim/core/task.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "test/sim/core/calls.h"
#include "test/sim/core/memory.h"

namespace sim {
namespace {

/// Adds the rows of a box, neighbours as one.
void add_rows(Accesses& all, const Box& box, const Task& task, bool write) {
  const bool whole_slices = box.pitch == task.bytes || task.height == 1;
  const bool whole = whole_slices && (task.depth == 1 || box.slice == task.bytes * task.height);
  if (whole) {
    all.add({box.start, task.bytes * task.height * task.depth, write});
    return;
  }
  for (std::size_t z = 0; z < task.depth; ++z) {
    if (whole_slices) {
      all.add({box.row(0, z), task.bytes * task.height, write});
      continue;
    }
    for (std::size_t y = 0; y < task.height; ++y) {
      all.add({box.row(y, z), task.bytes, write});
    }
  }
}

template <class Word>
void write_word(std::byte* to, const std::byte* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof(word));
  std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_release);
}

/// A word is written at once, as the host may look at it meanwhile.
void write(std::byte* to, const std::byte* from, std::size_t bytes) {
  const bool aligned = bytes != 0 && reinterpret_cast<std::uintptr_t>(to) % bytes == 0;
  if (aligned && bytes == sizeof(std::uint32_t)) {
    write_word<std::uint32_t>(to, from);
  } else if (aligned && bytes == sizeof(std::uint64_t)) {
    write_word<std::uint64_t>(to, from);
  } else {
    std::memmove(to, from, bytes);
  }
}

void run_copy(const Task& task) {
  const std::byte* staged = task.staged == nullptr ? nullptr : task.staged->data();
  for (std::size_t z = 0; z < task.depth; ++z) {
    for (std::size_t y = 0; y < task.height; ++y) {
      const std::byte* from = staged != nullptr ? staged : host(task.from.row(y, z));
      write(host(task.to.row(y, z)), from, task.bytes);
      staged = staged != nullptr ? staged + task.bytes : nullptr;
    }
  }
}

void run_fill(const Task& task) {
  for (std::size_t z = 0; z < task.depth; ++z) {
    for (std::size_t y = 0; y < task.height; ++y) {
      std::byte* row = host(task.to.row(y, z));
      for (std::size_t place = 0; place < task.bytes; place += task.pattern.size()) {
        write(row + place, task.pattern.data(), std::min(task.pattern.size(), task.bytes - place));
      }
    }
  }
}

}  // namespace

Shape Task::shape_now() const {
  Shape found = shape;
  if (grid_in != 0) {
    std::memcpy(found.grid, host(grid_in), sizeof(found.grid));
  }
  return found;
}

Accesses Task::accesses() const {
  Accesses found;
  switch (kind) {
    case Kind::kKernel:
      if (kernel->accesses != nullptr) {
        kernel->accesses(arguments.data(), shape_now(), found);
      }
      found.reads(grid_in, grid_in == 0 ? 0 : sizeof(shape.grid));
      break;
    case Kind::kCopy:
      if (!to_pageable) {
        add_rows(found, to, *this, true);
      }
      if (staged == nullptr && !from_pageable) {
        add_rows(found, from, *this, false);
      }
      break;
    case Kind::kFill: add_rows(found, to, *this, true); break;
    case Kind::kEmpty:
    case Kind::kHost: found.writes(to.start, bytes); break;
    case Kind::kFree:
      if (const Allocation* freed = find_allocation(to.start); freed != nullptr) {
        found.writes(freed->start, freed->bytes);
      }
      break;
  }
  return found;
}

void Task::bind() {
  const auto id_of = [](Address address, bool pageable) {
    const Allocation* found = pageable ? nullptr : find_allocation(address);
    return found == nullptr ? 0 : found->id;
  };
  const bool copy = kind == Kind::kCopy;
  to_id = copy || kind == Kind::kFill ? id_of(to.start, to_pageable) : 0;
  from_id = copy ? id_of(from.start, from_pageable || staged != nullptr) : 0;
}

bool Task::bound(const char* what) const {
  const auto same = [](Address address, unsigned long long id) {
    const Allocation* found = id == 0 ? nullptr : find_allocation(address);
    return id == 0 || (found != nullptr && found->id == id);
  };
  if (same(to.start, to_id) && same(from.start, from_id)) {
    return true;
  }
  violation("a graph %s whose %s names memory at %llx that was freed after the node got it", what,
            kind == Kind::kCopy ? "copy" : "fill", same(to.start, to_id) ? from.start : to.start);
  return false;
}

const char* Task::name() const noexcept {
  switch (kind) {
    case Kind::kKernel: return kernel->name;
    case Kind::kCopy: return "a copy";
    case Kind::kFill: return "a fill";
    case Kind::kHost: return "a host function";
    case Kind::kFree: return "a free";
    default: return "nothing";
  }
}

bool Task::usable(const Accesses& accesses, std::uint64_t number) const {
  for (const Access& access : accesses.all) {
    if (!sim::usable(access.start, access.bytes, name(), number)) {
      return false;
    }
  }
  if (kind != Kind::kKernel || kernel->accesses != nullptr) {
    return true;
  }
  for (const Parameter& parameter : kernel->parameters) {
    if (parameter.address && !sim::usable(argument<Address>(arguments.data(), parameter.offset), 1, name(), number)) {
      return false;
    }
  }
  return true;
}

void Task::run() const {
  switch (kind) {
    case Kind::kEmpty: break;
    case Kind::kKernel: kernel->run(arguments.data(), shape_now()); break;
    case Kind::kCopy: run_copy(*this); break;
    case Kind::kFill: run_fill(*this); break;
    case Kind::kHost: function(data); break;
    case Kind::kFree: {
      const Lock lock;
      const Allocation* found = find_allocation(to.start);
      if (found == nullptr || found->start != to.start) {
        violation("memory at %llx is freed twice", to.start);
        break;
      }
      if (to_id != 0 && found->id != to_id) {  // somebody got it in the order of a queue
        std::memset(host(to.start), 0xDD, found->bytes);
        break;
      }
      release(to.start);
      break;
    }
  }
}

Task copy_task(Address to, Address from, std::size_t bytes) {
  return copy_task(Box{to, bytes, bytes}, Box{from, bytes, bytes}, bytes, 1, 1);
}

Task copy_task(const Box& to, const Box& from, std::size_t bytes, std::size_t height, std::size_t depth) {
  Task task;
  task.kind = Task::Kind::kCopy;
  task.to = to;
  task.from = from;
  task.bytes = bytes;
  task.height = height;
  task.depth = depth;
  return task;
}

Task fill_task(Address to, const void* pattern, std::size_t width, std::size_t bytes) {
  Task task;
  task.kind = Task::Kind::kFill;
  task.to = {to, bytes, bytes};
  task.bytes = bytes;
  const auto* first = static_cast<const std::byte*>(pattern);
  task.pattern.assign(first, first + width);
  return task;
}

Task host_task(void (*function)(void*), void* data) {
  Task task;
  task.kind = Task::Kind::kHost;
  task.function = function;
  task.data = data;
  return task;
}

void stage(Task& task) {
  auto contents = std::make_shared<std::vector<std::byte>>();
  contents->reserve(task.bytes * task.height * task.depth);
  for (std::size_t z = 0; z < task.depth; ++z) {
    for (std::size_t y = 0; y < task.height; ++y) {
      const std::byte* row = host(task.from.row(y, z));
      contents->insert(contents->end(), row, row + task.bytes);
    }
  }
  task.staged = std::move(contents);
}

}  // namespace sim
