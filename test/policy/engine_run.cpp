// A program through the real engine: what a layer does at each call, in virtual time.
#include <nlohmann/json.hpp>
#include <numeric>

#include "replay/lane/lane.h"
#include "test/policy/program.h"
#include "test/policy/virtual_backend.h"

namespace refrain::policy {
namespace {

using capture::OperationKind;
using capture::OperationView;

struct EventState {
  std::uint64_t sequence = 0;
  Ns done = 0;
};

class Hooks : public replay::LayerHooks {
 public:
  Hooks(const Costs& costs, VirtualTime& time) noexcept : costs_(costs), time_(time) {}
  void fulfil(const OperationView& operation, backends::Event event, int /*status*/) noexcept override {
    time_.busy(costs_.record);  // the application's event is really recorded
    reinterpret_cast<EventState*>(operation.header().promise)->done = event;
  }
  bool retain_objects(const OperationView&) noexcept override { return true; }
  void release_objects(const OperationView&) noexcept override {}
  backends::Event acquire_event(capture::WaitRef wait) noexcept override { return wait; }
  std::string function_name(capture::FunctionId) noexcept override { return "kernel"; }

 private:
  const Costs& costs_;
  VirtualTime& time_;
};

class Run {
 public:
  Run(const Program& program, const Costs& costs, const env::Settings& settings)
      : program_(program),
        costs_(costs),
        time_(costs),
        backend_(costs, time_),
        hooks_(costs, time_),
        engine_(settings, backend_, hooks_, nullptr) {
    time_.attach(&engine_, static_cast<Ns>(settings.hold_limit_us) * 1000);
    if (program.is_noisy()) {
      time_.make_noisy();
    }
    for (std::size_t i = 0; i < kQueues; ++i) {
      queues_[i].info.id = i + 1;
      queues_[i].info.handle = i + 1;
      queues_[i].info.role = static_cast<std::uint32_t>(i);
      engine_.adopt_queue(queues_[i]);
    }
  }
  ~Run() { time_.attach(nullptr, 0); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Ns interval() {
    const Ns start = time_.now();
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      time_.pass(program_.own_time(intervals_, i));
      const Call& call = program_.calls[i];
      if (call.type == Call::Type::kHandover) {
        queues_[call.queue].newest = another_;
      } else {
        submit(call);
      }
    }
    time_.pass(program_.before_wait);
    wait();
    ++intervals_;
    return time_.now() - start;
  }
  [[nodiscard]] Ns now() const noexcept { return time_.now(); }
  [[nodiscard]] nlohmann::json report() const { return nlohmann::json::parse(engine_.report_json()); }

 private:
  void submit(const Call& call) {
    replay::Lane& lane = engine_.lane();
    EventState& event = events_[call.event];
    if (lane.is_dormant()) {
      time_.busy(costs_.dormant);
      lane.tick_dormant();
      issue(call);
      return;
    }
    // A third of the layer's work is done before the engine is asked, the rest behind it.
    const std::uint64_t sequence = lane.next_sequence();
    capture::Token token = capture::mix(
        static_cast<capture::Token>(call.type) * 65536 + program_.function(intervals_, call), call.queue + 1U);
    if (call.type == Call::Type::kWait) {
      token = capture::mix(token, std::min<std::uint64_t>(sequence - event.sequence, 4096));
    }
    time_.busy(costs_.observe / 3);
    const replay::Verdict verdict = lane.submit({token, kind_of(call), &queues_[call.queue], nullptr});
    if (verdict == replay::Verdict::kHold) {
      time_.busy(costs_.hold - costs_.observe / 3);
      describe(lane.writer(), call, token, lane.is_held(event.sequence));
      event.sequence = call.type == Call::Type::kRecord ? sequence : event.sequence;
      static_cast<void>(lane.hold());
      return;
    }
    time_.busy(costs_.observe - costs_.observe / 3);
    Ns spent = 0;
    if (verdict == replay::Verdict::kDescribeAndIssue) {
      time_.busy(costs_.describe);
      describe(lane.writer(), call, token, true);
      const Ns before = time_.now();
      issue(call);
      spent = lane.wants_time() ? time_.now() - before : 0;
    } else {
      issue(call);
    }
    static_cast<void>(lane.issued(0, static_cast<std::uint32_t>(spent)));
    event.sequence = call.type == Call::Type::kRecord ? sequence : event.sequence;
  }

  static OperationKind kind_of(const Call& call) noexcept {
    switch (call.type) {
      case Call::Type::kKernel: return OperationKind::kKernel;
      case Call::Type::kRecord: return OperationKind::kEventRecord;
      case Call::Type::kWait: return OperationKind::kEventWait;
      case Call::Type::kHandover: break;
    }
    return OperationKind::kUnknown;
  }

  /// As the CUDA layer does it (layer/cuda/kernels.cpp, events.cpp).
  void describe(capture::OperationWriter writer, const Call& call, capture::Token token, bool inside) {
    capture::OperationHeader& header = writer.begin(kind_of(call), token);
    EventState& event = events_[call.event];
    if (call.type == Call::Type::kKernel) {
      header.function = program_.function(intervals_, call) + 1;
      writer.words(
          capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {program_.device, 1, 1}, .local = {}});
      const std::uint64_t buffer = 1;
      const std::uint64_t scalar = program_.argument(intervals_, call);
      writer.argument_handle(capture::ArgumentKind::kBuffer, buffer, buffer);
      writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&scalar, 1)));
    } else if (call.type == Call::Type::kRecord) {
      header.promise = reinterpret_cast<std::uint64_t>(&event);
    } else {
      writer.wait(inside ? capture::kInternalWait | event.sequence : event.done);
    }
    writer.finish();
  }

  /// The application's call reaches the driver.
  void issue(const Call& call) {
    capture::RecordBytes& bytes = scratch_;
    bytes.clear();
    describe(capture::OperationWriter(bytes), call, 1, true);
    reinterpret_cast<capture::OperationHeader*>(bytes.data())->queue = queues_[call.queue].info.id;
    const Ns end = backend_.submit(OperationView(bytes.data()), events_[call.event].done);
    if (call.type == Call::Type::kRecord) {
      events_[call.event].done = end;
    }
  }

  void wait() {
    static const replay::EntryPoint entry{"wait"};
    replay::Lane& lane = engine_.lane();
    time_.busy(lane.is_dormant() ? costs_.dormant : costs_.host_call);
    static_cast<void>(lane.host_call(entry));
    const Ns done = std::max(time_.now(), backend_.device().idle_at()) + costs_.sync;
    time_.pass(done - time_.now());
    lane.host_call_done(entry, true);
  }

  /// Whoever it is, it is not this thread's.
  const replay::Lane* const another_ = reinterpret_cast<const replay::Lane*>(this);
  const Program& program_;
  const Costs& costs_;
  VirtualTime time_;
  VirtualBackend backend_;
  Hooks hooks_;
  std::array<replay::QueueSlot, kQueues> queues_;
  replay::Engine engine_;
  std::array<EventState, kQueues> events_;
  capture::RecordBytes scratch_;
  std::uint64_t intervals_ = 0;
};

}  // namespace

RunResult run_engine(const Program& program, const Costs& costs, const env::Settings& settings, std::uint64_t calls,
                     Ns time) {
  Run run(program, costs, settings);
  const Ns start = run.now();
  std::vector<Ns> intervals;
  const auto submitted = [&] { return intervals.size() * program.calls.size(); };
  while (submitted() < calls || (run.now() - start < time && submitted() < kMostCalls * calls)) {
    intervals.push_back(run.interval());
  }
  RunResult result;
  result.intervals = intervals.size();
  result.calls = intervals.size() * program.calls.size();
  result.total = run.now() - start;
  for (std::size_t i = 1; i < kLearning && i < intervals.size(); ++i) {
    result.beginning += intervals[i];
  }
  const auto half = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
  result.steady =
      static_cast<double>(std::accumulate(half, intervals.end(), Ns{0})) / static_cast<double>(intervals.end() - half);
  result.worst_interval = *std::max_element(intervals.begin(), intervals.end());
  const std::size_t window = std::min<std::size_t>(10, intervals.size());
  for (std::size_t i = 0; i + window <= intervals.size(); ++i) {
    const auto begin = intervals.begin() + static_cast<std::ptrdiff_t>(i);
    const Ns sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(window), Ns{0});
    if (static_cast<double>(sum) <= 1.02 * result.steady * static_cast<double>(window)) {
      result.warm_up = i * program.calls.size();
      break;
    }
  }
  const nlohmann::json report = run.report();
  result.report = report.dump(1);
  result.replayed = report["replayed"].get<double>() / static_cast<double>(result.calls);
  std::uint64_t largest = 0;
  for (const auto& graph : report["graphs"]) {
    if (graph["operations"].get<std::uint64_t>() > largest && !graph["reason"].get<std::string>().empty()) {
      largest = graph["operations"].get<std::uint64_t>();
      result.why = graph["reason"].get<std::string>();
    }
  }
  return result;
}

}  // namespace refrain::policy
