// What starters of different APIs do not have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layer/starter/starter.h"

namespace refrain::layer::starter {

struct Facts {
  const char* api;             ///< for messages
  const char* layer;           ///< name of its file
  const char* soname;          ///< of the library whose place is taken
  const char* setting;         ///< variable that names that library's file
  const char* marker;          ///< name of what every starter of this API exports, by which copies are recognised
  const void* own_marker;      ///< this starter's
  const char* probe;           ///< a function that the real library has for sure
  const char* const* folders;  ///< where the real library may be, besides where the dynamic linker looks
  std::size_t folder_count;
  std::uint32_t stubs;
  const char* names;  ///< of the functions in the order of the stubs, each ended by a zero; then another zero
  void* (*other)(
      std::uint32_t);     ///< stubs behind those: the function of that number, counted from there; null: there are none
  InnerCode* inner_code;  ///< see Starter
  void** inner_targets;
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): a constant where it is defined
extern const Facts facts;

/// Opens the layer of the starter at `file`; null if it is not there or can't be loaded, and then why.
OpenLayer find_layer(const char* file, const char** why) noexcept;

/// Starter::pass_to.
void pass_to(void* library) noexcept;

}  // namespace refrain::layer::starter

extern "C" {
// Of the stubs (layer/interpose/exported_stubs.inc).
// NOLINTBEGIN(bugprone-dynamic-static-initializers): assembly defines them
extern void* refrain_starter_targets[];
extern const std::int32_t refrain_starter_stub_offsets[];
// NOLINTEND(bugprone-dynamic-static-initializers)
}
