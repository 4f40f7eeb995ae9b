// When a lane was in which call: begin and end of each, as they came, until the writer takes them. Of a capture only so
// many calls are told: a loop of hours is one item of a history, but its calls are all different.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "capture/model.h"
#include "capture/operation.h"

namespace refrain::capture {

/// Calls that may still be told, of all lanes together.
class CallAllowance {
 public:
  explicit CallAllowance(std::uint64_t calls) noexcept : left_(calls) {}
  [[nodiscard]] bool take() noexcept {
    const bool some = left_ != 0;
    left_ -= some ? 1 : 0;
    return some;
  }
  [[nodiscard]] bool ended() const noexcept { return left_ == 0; }

 private:
  std::uint64_t left_;
};

/// Calls of a lane that fit into one record.
struct CallBatch {
  std::uint64_t lane = 0;
  std::uint64_t begin_ns = 0;
  std::vector<CallKind> kinds;
  std::vector<std::uint16_t> what;
  std::vector<std::uint32_t> after_ns, took_ns;
  std::vector<std::uint64_t> longer_ns;  ///< of those that took kLongest or more, in order

  static constexpr std::uint64_t kLongest = ~std::uint32_t{0};
};

/// Of one lane. Not thread-safe.
class CallTimes {
 public:
  CallTimes(std::uint64_t lane, CallAllowance& allowance) noexcept : lane_(lane), allowance_(allowance) {}

  void submission(const OperationView& operation);
  void host_call(std::uint32_t entry_point, std::uint64_t begin_ns);
  void host_call_done(std::uint64_t end_ns);

  [[nodiscard]] std::size_t count() const noexcept { return calls_; }
  std::vector<CallBatch> take();

 private:
  struct Open {
    std::uint32_t entry_point = 0;
    std::uint64_t begin_ns = 0;
  };

  void add(const CallKind& kind, std::uint64_t begin_ns, std::uint64_t end_ns);

  std::uint64_t lane_;
  CallAllowance& allowance_;
  std::optional<Open> open_;  ///< a host call that has not returned yet
  std::vector<CallBatch> batches_;
  std::map<CallKind, std::uint16_t> kinds_;  ///< of the last batch
  std::uint64_t end_ns_ = 0;                 ///< of the last call
  std::size_t calls_ = 0;
};

}  // namespace refrain::capture
