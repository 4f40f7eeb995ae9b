// Where the runtime may be, besides where the dynamic linker looks. For the layer and its starters.
#pragma once

namespace refrain::layer::hip {

inline constexpr const char* kLibraryFolders[] = {"/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                                                  "/usr/lib"};

}  // namespace refrain::layer::hip
