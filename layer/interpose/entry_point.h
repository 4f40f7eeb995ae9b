// The functions of a library whose place is taken, as its layer classifies them (entry_points.def).
#pragma once

#include <cstdint>

#include "replay/queue_slot.h"

namespace refrain::layer::interpose {

/// kTyped: leads to a function of the layer's, whichever of the classes of entry_points.def it has.
enum class EntryClass : std::uint8_t { kTyped, kNeutral, kHost };

struct EntryDescription {
  replay::EntryPoint entry;
  EntryClass entry_class;
  void* wrapper;  ///< the layer's function, or null
};

}  // namespace refrain::layer::interpose
