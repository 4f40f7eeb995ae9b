// cuda.h with the names that the driver really exports: without this definition its macros rename
// cuMemAlloc to cuMemAlloc_v2, and the first versions are not declared at all.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
