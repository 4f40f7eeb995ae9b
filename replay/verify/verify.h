// verify mode: a replay is compared, byte for byte, with eager execution of the same operations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/graph/executable.h"
#include "replay/graph/submit.h"
#include "replay/verify/verification_pause.h"

namespace refrain::replay {

enum class Verified : std::uint8_t {
  kEqual,
  kDifferent,   ///< the graph computes something else
  kUnstable,    ///< two eager runs differ from each other as well: nothing can be said
  kImpossible,  ///< memory that can't be copied, or waiting could block; the operations were issued eagerly
};

struct VerifyResult {
  Verified outcome = Verified::kImpossible;
  std::string text;            ///< kDifferent, kUnstable: first differing byte, buffer and operation
  const char* why = "";        ///< kImpossible: for users, with static lifetime
  bool soon = false;           ///< kImpossible: the next occurrence may be compared
  int error = 0;               ///< first error of the eager execution
  std::uint64_t compared = 0;  ///< kEqual: bytes of memory
};

/// Where the records name all memory (Backend::names_memory()); else see address_check.h.
/// Runs the operations eagerly, puts the contents of the memory involved back, runs the graph, and compares. What the
/// program gets, and what promises stand for, is the eager execution. Where a pointer is among the arguments, all
/// shared memory is involved (Backend::shared_memory()). `queues`: those the operations go to. All queues of the
/// process are waited for first (`pause`, which the caller has stopped), because earlier work on the same memory may
/// still run there. `most_copies`: bytes that copies may take at once.
VerifyResult verify(const SubmitContext& context, Executable& executable,
                    std::span<const capture::OperationView> operations, const std::vector<capture::QueueInfo>& queues,
                    VerificationPause& pause, std::uint64_t most_copies);

}  // namespace refrain::replay
