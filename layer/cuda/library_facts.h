// What the layer, its starter and `refrain run` know of the real driver's library.
#pragma once

namespace refrain::layer::cuda {

inline constexpr const char* kApi = "CUDA";
inline constexpr const char* kDriverFile = "libcuda.so.1";
/// What Refrain's own library of that name exports, of this build or another.
inline constexpr const char* kMarker = "refrain_cuda_shim";
/// A function that the driver has for sure.
inline constexpr const char* kProbe = "cuInit";
/// Where the driver may be, besides where the dynamic linker looks.
#if defined(__aarch64__)
// On Jetson the driver comes with the board's files.
inline constexpr const char* kFolders[] = {"/usr/lib/aarch64-linux-gnu",
                                           "/usr/lib64",
                                           "/usr/lib",
                                           "/usr/local/nvidia/lib64",
                                           "/usr/lib/aarch64-linux-gnu/nvidia",
                                           "/usr/lib/aarch64-linux-gnu/tegra",
                                           "/run/opengl-driver/lib"};
#else
inline constexpr const char* kFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64",       "/usr/lib",
                                           "/usr/local/nvidia/lib64",   "/usr/lib/wsl/lib", "/run/opengl-driver/lib"};
#endif

}  // namespace refrain::layer::cuda
