#include "layer/opencl/dispatch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "layer/opencl/layer.h"
#include "layer/opencl/stubs.h"
#include "layer/opencl/wrappers.h"

namespace refrain::layer::opencl {

cl_icd_dispatch target{};

namespace {

constexpr std::uint32_t kKnownSlots = sizeof(cl_icd_dispatch) / sizeof(void*);
static_assert(kKnownSlots <= kSlotStubs, "more dispatch slots than stubs: raise kSlotStubs");

#define SLOT(f) (offsetof(cl_icd_dispatch, f) / sizeof(void*))
#define TYPED_ENTRY(f, c) {#f, EntryClass::c, SLOT(f), reinterpret_cast<void*>(&wrap::f)},
#define PLAIN_ENTRY(f, c) {#f, EntryClass::c, SLOT(f), nullptr},
#define SUBMIT(f) TYPED_ENTRY(f, kSubmit)
#define TRACKED(f) TYPED_ENTRY(f, kTracked)
#define RESOLVE(f) TYPED_ENTRY(f, kResolve)
#define TYPED(f) TYPED_ENTRY(f, kTyped)
#define NEUTRAL(f) PLAIN_ENTRY(f, kNeutral)
#define HOST(f) PLAIN_ENTRY(f, kHost)
#define MAKES(f) PLAIN_ENTRY(f, kMakes)
const EntryDescription descriptions[] = {
#include "layer/opencl/entry_points.def"
};

void* table[kSlotStubs];

void set_stub(std::uint32_t slot, void* function, const char* name, bool makes_objects) noexcept {
  set_makes_objects(slot, makes_objects);
  interpose::HostStubs::set(slot, function, name);
}

}  // namespace

std::span<const EntryDescription> entry_descriptions() noexcept {
  return descriptions;
}

const cl_icd_dispatch* build_dispatch(const cl_icd_dispatch* below, cl_uint entries, cl_uint* our_entries) noexcept {
  const auto* functions = reinterpret_cast<void* const*>(below);
  const std::uint32_t count = std::min<std::uint32_t>(entries, kSlotStubs);
  std::memcpy(&target, below, std::min<std::size_t>(count, kKnownSlots) * sizeof(void*));
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    table[slot] = nullptr;
    if (functions[slot] != nullptr) {
      set_stub(slot, functions[slot], "a function newer than Refrain", true);
      table[slot] = interpose::HostStubs::address(slot);
    }
  }
  for (const EntryDescription& description : descriptions) {
    if (description.slot >= count || functions[description.slot] == nullptr) {
      continue;
    }
    if (description.wrapper != nullptr) {
      table[description.slot] = description.wrapper;
    } else if (description.entry_class == EntryClass::kNeutral) {
      table[description.slot] = functions[description.slot];
    } else {
      set_stub(description.slot, functions[description.slot], description.name,
               description.entry_class == EntryClass::kMakes);
    }
  }
  *our_entries = count;
  return reinterpret_cast<const cl_icd_dispatch*>(table);
}

}  // namespace refrain::layer::opencl
