// Running things in a process of their own, because drivers and unknown programs may crash or hang.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "env/child_environment.h"

namespace refrain::env {

/// What a process that ran a function left.
struct ChildResult {
  std::string text;     ///< what the function returned
  std::string failure;  ///< why there is no text: "crashed (Segmentation fault)", "gave no answer in 30 s"
};

/// In a child, before it may hang: it is killed when its parent is. Kept by exec().
void die_with_parent() noexcept;

/// Forks, runs `function` in the child and hands back what it returns. The caller must have one thread only.
ChildResult in_child(const std::function<std::string()>& function, int timeout_seconds);

/// A file in memory that child processes inherit as an open descriptor, with a number that is unlikely to be
/// used for something else in a child that closed it.
class SharedDescriptor {
 public:
  SharedDescriptor();
  ~SharedDescriptor();
  SharedDescriptor(const SharedDescriptor&) = delete;
  SharedDescriptor& operator=(const SharedDescriptor&) = delete;

  /// For REFRAIN_DOCTOR_FD: the number, and which file it must be.
  std::string name() const;
  /// The lines of layers that were written so far (doctor_lines()).
  std::vector<std::string> lines() const;

 private:
  int number_ = -1;
};

/// For in_child(): becomes this program anew, because the dynamic linker looks at its variables at the start only.
/// `words`: a command that makes a call of the API. Returns how it failed, or nothing.
std::string run_anew(const std::vector<Variable>& activation, const SharedDescriptor& proof,
                     const std::vector<std::string>& words);

/// "exit status 3" or "killed by Segmentation fault", from waitpid's status.
std::string describe_status(int status);

}  // namespace refrain::env
