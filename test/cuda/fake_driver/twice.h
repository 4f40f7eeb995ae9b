// Functions with a stream exist twice: with the suffix, 0 means the default stream of the thread.
#pragma once

#include "test/cuda/fake_driver/fake_driver.h"

#define FAKE_TWICE(begin, name, suffix, parameters, call) \
  FAKE name parameters {                                  \
    begin(name);                                          \
    [[maybe_unused]] constexpr bool per_thread = false;   \
    return call;                                          \
  }                                                       \
  FAKE name##suffix parameters {                          \
    begin(name##suffix);                                  \
    [[maybe_unused]] constexpr bool per_thread = true;    \
    return call;                                          \
  }
#define TWICE(name, parameters, call) FAKE_TWICE(ENTER, name, _ptsz, parameters, call)
#define SUBMIT_TWICE(name, parameters, call) FAKE_TWICE(ENTER_SUBMISSION, name, _ptsz, parameters, call)
#define SUBMIT_TWICE_PTDS(name, parameters, call) FAKE_TWICE(ENTER_SUBMISSION, name, _ptds, parameters, call)
