// Submissions of HIP: layer/streams/submission.h with HIP's types.
#pragma once

#include "layer/hip/runtime.h"
#include "layer/hip/wrappers.h"
#include "layer/streams/submission.h"

namespace refrain::layer::hip {

using capture::mix;
using streams::Call;

}  // namespace refrain::layer::hip
