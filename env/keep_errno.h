// The program may look at errno after a call in which we did something of our own: that call is the driver's to it, and
// what our files and sockets answered is nothing of its.
#pragma once

#include <errno.h>

namespace refrain::env {

/// errno is afterwards what it was before.
class KeepErrno {
 public:
  KeepErrno() noexcept : value_(errno) {}
  ~KeepErrno() { errno = value_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int value_;
};

}  // namespace refrain::env
