// The layer for starters (layer/starter) that are linked together with it.
#include "layer/starter/facts.h"

extern "C" refrain::layer::FirstCall refrain_layer_open(const refrain::layer::Starter& starter) noexcept;

refrain::layer::OpenLayer refrain::layer::starter::find_layer(const char* /*file*/, const char** /*why*/) noexcept {
  return &refrain_layer_open;
}
