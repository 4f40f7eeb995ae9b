#include "layer/hip/real_library.h"

namespace refrain::layer::hip {

const char* const kOwnSoname = REFRAIN_HIP_SONAME;

}  // namespace refrain::layer::hip
