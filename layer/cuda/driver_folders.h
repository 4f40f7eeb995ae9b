// Where the driver may be, besides where the dynamic linker looks. For the layer and its starter.
#pragma once

namespace refrain::layer::cuda {

inline constexpr const char* kDriverFolders[] = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib64",       "/usr/lib",
    "/usr/local/nvidia/lib64",   "/usr/lib/wsl/lib", "/run/opengl-driver/lib"};

}  // namespace refrain::layer::cuda
