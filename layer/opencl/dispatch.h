// Our dispatch table, made from the one below us.
#pragma once

#include <cstdint>
#include <span>

#include "layer/opencl/opencl_headers.h"

namespace refrain::layer::opencl {

/// Copies `below` (of `entries` entries) to `target` and builds our table from it: typed wrappers,
/// stubs, and the functions below us where a slot is neutral. Null slots stay null. Calls nothing.
/// Returns our table; it has min(entries, capacity) entries, told in `our_entries`.
const cl_icd_dispatch* build_dispatch(const cl_icd_dispatch* below, cl_uint entries, cl_uint* our_entries) noexcept;

/// How the class of a function is written: for tests and explanations.
enum class EntryClass : std::uint8_t { kUnknown, kSubmit, kTracked, kNeutral, kResolve, kTyped, kHost, kMakes };

struct EntryDescription {
  const char* name;
  EntryClass entry_class;
  std::uint32_t slot;
  void* wrapper;  ///< the typed function, or null
};
/// All entries of entry_points.def.
std::span<const EntryDescription> entry_descriptions() noexcept;

}  // namespace refrain::layer::opencl
