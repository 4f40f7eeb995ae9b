#include "test/portable/calls.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "test/portable/device.h"

namespace portable {
namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> last_call{0};
thread_local bool tolerant = false;

}  // namespace

void count_call() noexcept {
  const std::uint64_t number = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == last_call.load(std::memory_order_relaxed)) {
    std::raise(SIGKILL);
  }
}
void discount_call() noexcept {
  calls.fetch_sub(1, std::memory_order_relaxed);
}
std::uint64_t calls_made() noexcept {
  return calls.load();
}
void kill_before_call(std::uint64_t call) noexcept {
  last_call.store(call);
}

Tolerant::Tolerant() noexcept {
  tolerant = true;
}
Tolerant::~Tolerant() {
  tolerant = false;
}

void fail(long long error, const char* call) {
  if (tolerant) {
    throw Refused{error};
  }
  std::printf("error %lld from %s\n", error, call);
  std::fflush(stdout);
  std::_Exit(3);
}

const char* name_of(Feature feature) noexcept {
  switch (feature) {
    case Feature::kBlockingQueue: return "a default queue, and queues that wait for it";
    case Feature::kOutOfOrder: return "queues without an order";
    case Feature::kHostFunction: return "host functions in a queue";
    case Feature::kFreeInOrder: return "memory in the order of a queue";
    case Feature::kOwnGraph: return "graphs that the program makes";
    case Feature::kGraphFill: return "fills in graphs that the program makes";
    case Feature::kRectangle: return "rectangular copies";
    case Feature::kWidePattern: return "fills with patterns of more than 4 bytes";
    case Feature::kOddPattern: return "fills with patterns of any size";
    case Feature::kTimedEvent: return "events that take times";
    case Feature::kPrefetch: return "prefetches";
    case Feature::kWriteValue: return "values that a queue writes";
    case Feature::kQueryQueue: return "the question whether a queue is done";
    case Feature::kPointerOffset: return "memory arguments of kernels that begin in the middle";
    case Feature::kWriteIsCopied: return "asynchronous copies of pageable memory";
    case Feature::kReleaseWaits: return "memory freed with work in flight";
    case Feature::kGraphInFlight: return "graphs of the program launched while they run";
    case Feature::kGate: return "queues that wait for the host";
    case Feature::kGateByQueue: return "queues that wait for a later kernel of another one";
    case Feature::kSetter: return "kernels that see what was set for them";
    case Feature::kReleaseQueue: return "queues released with work in flight";
  }
  return "";
}

}  // namespace portable
