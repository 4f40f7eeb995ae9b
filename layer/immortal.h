#pragma once

#include "env/immortal.h"

namespace refrain::layer {

using env::Immortal;

}  // namespace refrain::layer
