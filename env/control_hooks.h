// How a program tells Refrain something: what the preloaded library of layer/program_control.cpp has for the layers. It
// may not be there, see env/exit_hooks.h. What it has for programs is in layer/refrain.h.
#pragma once

#include "env/region.h"

/// A layer, as the program's calls reach it: on the program's thread. It must stay where it is.
struct RefrainLayer {
  void (*start)() noexcept;
  void (*stop)() noexcept;
  void (*flush)() noexcept;
  /// The calling thread is in this region now; null: in none.
  void (*region)(const refrain::env::Region* now) noexcept;
};

/// What the program asked for last, before a layer was there.
enum class RefrainWish : int { kNone = 0, kStart = 1, kStop = 2 };

extern "C" {
/// From now on the layer is told. Thread-safe; more than eight are not told. Returns what it missed.
RefrainWish refrain_attach(const RefrainLayer* layer);
/// The region that the calling thread is in; null: none.
const refrain::env::Region* refrain_region_now();
}
