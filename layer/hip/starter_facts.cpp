// What is preloaded for HIP: the starter (layer/starter) with the runtime's functions. One for each major version.
#include "layer/hip/library_facts.h"
#include "layer/starter/facts.h"

extern "C" __attribute__((visibility("default"))) const char refrain_hip_shim[];

namespace refrain::layer::starter {
namespace {

#define ENTRY(f, version) #f "\0"
const char names[] =
#include "layer/hip/entry_points.def"
    ;
#undef ENTRY

enum Stub : std::uint32_t {
#define ENTRY(f, version) f##_stub,
#include "layer/hip/entry_points.def"
  kStubs
};
#undef ENTRY

}  // namespace
}  // namespace refrain::layer::starter

extern "C" {
// Used by the stubs.
refrain::layer::InnerCode refrain_starter_inner_code = {};
void* refrain_starter_inner_targets[refrain::layer::starter::kStubs] = {};
}

namespace refrain::layer::starter {

const Facts facts{
    .api = hip::kApi,
    .layer = "librefrain_hip_layer.so",
    .soname = REFRAIN_HIP_SONAME,
    .setting = "REFRAIN_HIP_LIBRARY",
    .marker = hip::kMarker,
    .own_marker = refrain_hip_shim,
    .probe = hip::kProbe,
    .folders = hip::kFolders,
    .folder_count = sizeof(hip::kFolders) / sizeof(char*),
    .stubs = kStubs,
    .names = names,
    .other = nullptr,
    .inner_code = &refrain_starter_inner_code,
    .inner_targets = refrain_starter_inner_targets,
};

}  // namespace refrain::layer::starter

const char refrain_hip_shim[] = REFRAIN_VERSION;
