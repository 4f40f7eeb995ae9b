// Nobody submits while SubmissionPause is closed, and what was submitted before is seen.
#include "backends/submission_pause.cpp"

#include <cstddef>
#include <cstdint>

#include "threads.h"

refrain::env::StuckCheck closer;
refrain::backends::SubmissionPause submissions{closer};
refrain::backends::SubmissionPause::Place place;
int driver = 0;

void submit() {
  submissions.enter(place);
  ++driver;
  submissions.leave(place);
}

int main() {
  submissions.add(place);
  Thread<submit> thread;
  if (submissions.close(std::chrono::microseconds(1))) {
    ++driver;
  }
  submissions.open();
  thread.join();
  assert(driver == 2);
}
