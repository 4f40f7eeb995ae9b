// The vendor's header with the exact names of the ABI: cuMemAlloc and cuMemAlloc_v2 are two functions here,
// and the variants for per-thread default streams (_ptsz, _ptds) are declared as well.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
