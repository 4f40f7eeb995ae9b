// Whether the calling thread is inside a lane.
#pragma once

namespace refrain::replay {

/// True while this thread is inside a lane. The driver may call the application back from there (a destructor callback,
/// say), and the application the driver: such calls pass through.
extern constinit thread_local bool inside_lane __attribute__((tls_model("initial-exec")));

class Inside {
 public:
  Inside() noexcept : before_(inside_lane) { inside_lane = true; }
  ~Inside() { inside_lane = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

}  // namespace refrain::replay
