// What is preloaded into every process of a program is a starter: a function for each of the driver's, and no more
// code than it takes to open the layer, a library of its own, when one of them is first called. Shells and compilers
// never do. A starter needs the C library alone, and no version of anything in it, so that there is no process that it
// can keep from starting; where the layer can't be opened, calls go straight to the driver.
//
// The functions that programs call stay the starter's: stubs that jump to where the layer told them. This is what the
// two share.
#pragma once

#include <cstdint>

namespace refrain::layer {

/// Called by every stub before its target is set; returns where to go.
using FirstCall = void* (*)(std::uint32_t index) noexcept;
/// Called by HOST stubs while they are watching, with the return address of the call; returns where to go.
using HostCall = void* (*)(std::uint32_t index, std::uint64_t caller) noexcept;

/// The code of the real library and of the layer: where stubs are guarded calls from there pass through.
struct InnerCode {
  std::uint64_t real_begin;
  std::uint64_t real_bytes;
  std::uint64_t own_begin;
  std::uint64_t own_bytes;
};

/// A starter, as its layer sees it. The layer writes through the pointers.
struct Starter {
  const char* version;  ///< of Refrain: it and the layer must be of the same build
  const char* file;     ///< path by which it was loaded
  const char* soname;   ///< of the library whose place it takes
  std::uint32_t stubs;
  const std::int32_t* stub_offsets;  ///< of each stub from its own place in this list: addresses would have to be
                                     ///< written when a process starts
  void** targets;                    ///< where each stub leads
  std::uint32_t* watching;           ///< HOST stubs ask while it is not 0
  HostCall* host_call;               ///< whom they ask
  InnerCode* inner_code;             ///< null: stubs are not guarded
  void** inner_targets;              ///< where guarded stubs lead calls from there
  /// Has all stubs lead straight to the library with this dlopen() handle, or to the one that the starter finds itself
  /// if it is null: for a layer that could not start. Needs no memory.
  void (*pass_to)(void* library) noexcept;
};

inline void* stub_of(const Starter& starter, std::uint32_t index) noexcept {
  const std::int32_t* place = starter.stub_offsets + index;
  return reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(place) + *place);
}

/// What a layer exports as refrain_layer_open: takes the starter over, and returns what its stubs call from now on.
/// Null: it is another version's.
using OpenLayer = FirstCall (*)(const Starter& starter) noexcept;

}  // namespace refrain::layer
