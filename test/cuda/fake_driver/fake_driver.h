// A small libcuda.so.1 for tests, as nasty as the driver API allows: work is done by a thread of its own, in any
// order that streams, events and graphs leave open (schedule.h); kernels (kernels.cpp) read their arguments from
// copies made at the launch; pinned memory is read when a copy runs, pageable memory at the call. It has one device,
// whose memory is memory of the process.
//
// What a real driver would answer with undefined behaviour (handles that were destroyed, memory that was freed) is a
// violation: one line on stderr, which fails the test.
//
//   FAKE_CUDA_LOG      file that gets every call, one line each: the exported name, and what makes calls of it differ
//   FAKE_CUDA_SEED     number that decides in which order work that is ready is done, and whether addresses of
//                      destroyed handles and freed memory come back at once (even) or never (odd)
//   FAKE_CUDA_FAIL_AT  number of the submission-like call, from 1, that fails with CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
//   FAKE_CUDA_COUNT    file that gets the number of submission-like calls at exit
//
// Functions that nobody wrote (defaults.cpp) report CUDA_ERROR_NOT_SUPPORTED, and are logged as well.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdint>

#define FAKE extern "C" __attribute__((visibility("default"))) CUresult

namespace fake {

void log(const char* text) noexcept;
__attribute__((format(printf, 1, 2))) void logf(const char* format, ...) noexcept;
__attribute__((format(printf, 1, 2))) void violation(const char* format, ...) noexcept;

/// The beginning of every call that needs cuInit(): logs it. An error in a child that was forked.
CUresult enter(const char* name) noexcept;
/// The same for calls that submit work, or make something that submitting needs: one of them may be told to fail.
CUresult enter_submission(const char* name) noexcept;
/// cuInit(): from now on calls are allowed.
CUresult initialise() noexcept;

#define ENTER(name)                                                           \
  if (const CUresult entered = fake::enter(#name); entered != CUDA_SUCCESS) { \
    return entered;                                                           \
  }                                                                           \
  static_assert(true)
#define ENTER_SUBMISSION(name)                                                           \
  if (const CUresult entered = fake::enter_submission(#name); entered != CUDA_SUCCESS) { \
    return entered;                                                                      \
  }                                                                                      \
  static_assert(true)

/// FAKE_CUDA_SEED.
std::uint64_t seed() noexcept;
inline bool reuses_addresses() noexcept {
  return seed() % 2 == 0;
}

/// "c693336e-1121-df11-a8c3-68f355d89593".
struct TableName {
  char text[40];
};
TableName table_name(const CUuuid& id) noexcept;

}  // namespace fake
