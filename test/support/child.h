// Runs a program as a process of its own, with a limit of time, and reads Refrain's report of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace child {

struct Result {
  /// Negative: the signal that ended it. -1000: it ran out of time or hung (hang.h); then `errors` ends with its
  /// stacks.
  int exit_code = -1;
  std::string output;
  std::string errors;
  /// From Refrain's report; 0 if there was none.
  long submissions = 0, replayed = 0, launches = 0, differences = 0, verified = 0, unverified = 0, dormant = 0,
       cuts = 0, followed = 0, taken_back = 0;
  bool reported = false;
};

/// The whole environment is `environment`, REFRAIN_REPORT_FILE and, if it names none, no config file. Throws
/// std::runtime_error if it could not even be started.
Result run(std::vector<std::string> command, std::vector<std::string> environment, double seconds);

/// Graphs are built in the background, so that on a busy machine a short program may end before one is used: calls
/// `run` until its result is `enough`, a few times at most, and returns the last one. (What is wrong in itself is to be
/// enough, or told at once: trying again must hide nothing.)
Result run_until(const std::function<bool(const Result&)>& enough, const std::function<Result()>& run);

/// The same until `least` operations were replayed. A result that is
/// wrong in itself (another output than `output`, an exit code, a violation, an error of Refrain's, a difference found
/// by verify) is returned at once.
Result run_until_replayed(long least, const std::string& output, const std::function<Result()>& run);

/// Whether more of the same is asked for than a test of a change has the time for: TEST_NIGHTLY is set.
bool nightly();

/// A mode of Refrain ("plain": without it), and the order in which the simulated device works.
struct Way {
  int seed;
  std::string mode;
};

/// Those in which programs must do the same: every mode once, replay in two orders; nightly every mode in four.
std::vector<Way> ways();

/// A file name in a folder of this process, removed at its end.
std::string scratch(const std::string& name);

}  // namespace child
