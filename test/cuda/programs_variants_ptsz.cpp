// programs_variants.cpp as it is compiled with `--default-stream per-thread`.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#define VARIANTS variants_per_thread
#define VARIANTS_STREAM nullptr
#include "test/cuda/programs_variants.cpp"  // NOLINT(bugprone-suspicious-include)
