// The driver's undocumented tables of functions, which cudart and NVIDIA's libraries use.
#pragma once

#include <string>

#include "layer/cuda/cuda_headers.h"

namespace refrain::layer::cuda {

/// What the application gets instead of the driver's `table`: a copy whose functions are stubs, always the same
/// one, or `table` itself if it is known to have nothing to do with work or if its length is not known.
/// Thread-safe.
const void* watched_table(const void* table, const CUuuid& id) noexcept;

/// Whether a table is asked for by CUPTI that somebody begins to use.
bool is_profilers_table(const CUuuid& id) noexcept;

/// "c693336e-1121-df11-a8c3-68f355d89593".
std::string table_name(const CUuuid& id);

}  // namespace refrain::layer::cuda
