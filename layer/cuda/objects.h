// The records of layer/streams with CUDA's types.
#pragma once

#include "backends/cuda/cuda_api.h"
#include "layer/streams/objects.h"

namespace refrain::layer::cuda {

using StreamState = streams::StreamState<backends::CudaApi>;
using EventState = streams::EventState<backends::CudaApi>;
using streams::FunctionState;

/// Never destroyed: threads of the application may still call during exit.
extern streams::Objects<backends::CudaApi>& objects;

}  // namespace refrain::layer::cuda
