// Runs a program as a process of its own, with a limit of time, and reads Refrain's report of it.
#pragma once

#include <string>
#include <vector>

namespace child {

struct Result {
  int exit_code = -1;  ///< negative: the signal that ended it; -1000: it ran out of time
  std::string output;
  std::string errors;
  /// From Refrain's report; 0 if there was none.
  long submissions = 0, replayed = 0, launches = 0, differences = 0, asleep = 0;
  bool reported = false;
};

/// The whole environment is `environment`, and REFRAIN_REPORT_FILE. Throws std::runtime_error if it could not even be
/// started.
Result run(std::vector<std::string> command, std::vector<std::string> environment, double seconds);

/// A file name in a folder of this process, removed at its end.
std::string scratch(const std::string& name);

}  // namespace child
