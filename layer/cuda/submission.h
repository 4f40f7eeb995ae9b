// Submissions of CUDA: layer/streams/submission.h with CUDA's types.
#pragma once

#include "layer/cuda/capture.h"
#include "layer/cuda/objects.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/streams.h"
#include "layer/cuda/wrappers.h"
#include "layer/streams/submission.h"

namespace refrain::layer::cuda {

using capture::mix;
using streams::Call;

}  // namespace refrain::layer::cuda
