// How a replay is checked where kernels use memory by address: all memory of the program is compared.
//
//   number all pages — copy what may change — run eagerly — number all pages: what changed is what the work writes —
//   put that back — run the graph — number all pages, compare
//
// Eager execution comes first, and what the program gets is equal to its result, whatever happens. A page that changed
// and was not copied cannot be put back: then nothing is compared, and the next check of this graph knows more.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/addressed_memory.h"
#include "capture/graph.h"
#include "replay/verify/verify.h"

namespace refrain::replay {

/// What is known of what graphs write. Not thread-safe: for one check at a time.
class AddressCheck {
 public:
  /// `most_copies`: bytes that copies may take at once.
  explicit AddressCheck(std::uint64_t most_copies) : most_copies_(most_copies) {}

  /// See verify(). `graph`: its fingerprint.
  VerifyResult run(const SubmitContext& context, capture::Fingerprint graph, Executable& executable,
                   std::span<const capture::OperationView> operations, const std::vector<capture::QueueInfo>& queues,
                   VerificationPause& pause);

 private:
  class Check;

  std::uint64_t most_copies_;
  /// Pages that graphs were seen to write, by address; a graph that is gone is forgotten with the rest.
  std::map<capture::Fingerprint, std::vector<backends::MemoryRange>> written_;
};

}  // namespace refrain::replay
