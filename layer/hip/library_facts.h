// What the layer, its starters and `refrain run` know of the real runtime's library.
#pragma once

namespace refrain::layer::hip {

inline constexpr const char* kApi = "HIP";
/// What Refrain's own libraries of that name export, of this build or another.
inline constexpr const char* kMarker = "refrain_hip_shim";
/// A function that the runtime has for sure.
inline constexpr const char* kProbe = "hipInit";
/// Where the runtime may be, besides where the dynamic linker looks.
#if defined(__aarch64__)
inline constexpr const char* kFolders[] = {"/opt/rocm/lib", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"};
#else
inline constexpr const char* kFolders[] = {"/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"};
#endif

}  // namespace refrain::layer::hip
