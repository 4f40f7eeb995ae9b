# Writes ${CMAKE_CURRENT_BINARY_DIR}/made/env/cli/features.h: which parts this build has, and why it has not the others.
# Included last, when it is known which libraries there are.
set(features "")
function(refrain_feature name target)
  if(TARGET ${target})
    string(APPEND features "    {\"${name}\", nullptr},\n")
  else()
    list(GET ARGN 0 reason)
    string(APPEND features "    {\"${name}\", \"${reason}\"},\n")
  endif()
  set(features "${features}" PARENT_SCOPE)
endfunction()

set(no_stubs "")
if(NOT TARGET refrain_interpose)
  set(no_stubs "there are no stubs for this processor")
endif()
set(why_cuda "cuda.h was not found (CUDA_PATH names a toolkit of version 13)")
if(CUDA_INCLUDE_DIR)
  set(why_cuda "cuda.h is older than 13.0")
endif()
refrain_feature("CUDA" refrain_cuda_layer ${no_stubs} "${why_cuda}")
refrain_feature("HIP" refrain_hip_layer ${no_stubs} "hip/hip_runtime_api.h was not found (Debian: libamdhip64-dev)")
refrain_feature("Level Zero" refrain_level_zero ${no_stubs} "level_zero/ze_api.h was not found (Debian: libze-dev)")
refrain_feature("OpenCL" refrain_layer_opencl ${no_stubs} "headers or loader were not found (Debian: ocl-icd-opencl-dev)")
refrain_feature("bench" refrain_bench "it needs OpenCL")
refrain_feature("hooks at the end of processes" refrain_exit "this is a build with sanitizers")

set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_SYSTEM_PROCESSOR}")
if(REFRAIN_SANITIZE)
  string(APPEND compiler ", sanitizers ${REFRAIN_SANITIZE}")
endif()
# (CMake 3.18 has file(CONFIGURE), but loses what is behind a semicolon.)
string(CONFIGURE
"namespace refrain::env {
struct Feature {
  const char* name;
  const char* absent;  // why it is not built; null: it is
};
constexpr Feature kFeatures[] = {
@features@};
constexpr const char* kCompiler = \"@compiler@\";
}  // namespace refrain::env
" features_header @ONLY)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/made/env/cli/features.h CONTENT "${features_header}")
