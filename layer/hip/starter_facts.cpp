// What is preloaded for HIP: the starter (layer/starter) with the runtime's functions. One for each major version.
#include "layer/hip/library_folders.h"
#include "layer/starter/facts.h"

extern "C" __attribute__((visibility("default"))) const char refrain_hip_shim[];

namespace refrain::layer::starter {
namespace {

#define NAME(f) #f "\0"
#define SUBMIT(f, version) NAME(f)
#define TRACKED(f, version) NAME(f)
#define TYPED(f, version) NAME(f)
#define SETTER(f, version) NAME(f)
#define RESOLVE(f, version) NAME(f)
#define NEUTRAL(f, version) NAME(f)
#define HOST(f, version) NAME(f)
const char names[] =
#include "layer/hip/entry_points.def"
    ;
#undef SUBMIT
#undef TRACKED
#undef TYPED
#undef SETTER
#undef RESOLVE
#undef NEUTRAL
#undef HOST

enum Stub : std::uint32_t {
#define SUBMIT(f, version) f##_stub,
#define TRACKED(f, version) SUBMIT(f, version)
#define TYPED(f, version) SUBMIT(f, version)
#define SETTER(f, version) SUBMIT(f, version)
#define RESOLVE(f, version) SUBMIT(f, version)
#define NEUTRAL(f, version) SUBMIT(f, version)
#define HOST(f, version) SUBMIT(f, version)
#include "layer/hip/entry_points.def"
  kStubs
};

}  // namespace
}  // namespace refrain::layer::starter

extern "C" {
// Used by the stubs.
refrain::layer::InnerCode refrain_starter_inner_code = {};
void* refrain_starter_inner_targets[refrain::layer::starter::kStubs] = {};
}

namespace refrain::layer::starter {

const Facts facts{
    .api = "HIP",
    .layer = "librefrain_hip_layer.so",
    .soname = REFRAIN_HIP_SONAME,
    .setting = "REFRAIN_HIP_LIBRARY",
    .marker = "refrain_hip_shim",
    .own_marker = refrain_hip_shim,
    .probe = "hipInit",
    .folders = hip::kLibraryFolders,
    .folder_count = sizeof(hip::kLibraryFolders) / sizeof(char*),
    .names = names,
    .other = nullptr,
};

Starter self{
    .version = REFRAIN_VERSION,
    .file = "",
    .soname = REFRAIN_HIP_SONAME,
    .stubs = kStubs,
    .stub_offsets = refrain_starter_stub_offsets,
    .targets = refrain_starter_targets,
    .watching = nullptr,
    .host_call = nullptr,
    .inner_code = &refrain_starter_inner_code,
    .inner_targets = refrain_starter_inner_targets,
    .pass_to = nullptr,
};

}  // namespace refrain::layer::starter

const char refrain_hip_shim[] = REFRAIN_VERSION;
