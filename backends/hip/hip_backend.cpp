#include "backends/hip/hip_backend.h"

namespace refrain::backends {

template class StreamBackend<HipApi>;

}  // namespace refrain::backends
