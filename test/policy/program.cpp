#include "test/policy/program.h"

#include <algorithm>

#include "test/policy/virtual_time.h"

namespace refrain::policy {

namespace {
constexpr std::size_t kLayers = 8;  // of kLengths

/// What comes in the interval with this number.
std::uint64_t length_of(std::uint64_t interval) noexcept {
  return 17 + interval * 37 % 491;
}
}  // namespace

Program make_program(Kind kind, Ns host, Ns device, std::size_t launches) {
  constexpr std::uint32_t kInnerLength = 20;
  constexpr std::uint32_t kBetweenHandovers = 11;
  Program program;
  program.kind = kind;
  program.host = host;
  program.device = device;
  program.launches = launches;
  program.before_call = kind == Kind::kGap ? 0 : host;
  program.before_wait = kind == Kind::kGap ? host * launches : 0;
  const auto queues = static_cast<std::uint8_t>(kind == Kind::kForkJoin ? std::min(launches, kQueues) : 1);
  if (queues > 1) {
    program.calls.push_back({Call::Type::kRecord, 0, 0, 0});
    for (std::uint8_t queue = 1; queue < queues; ++queue) {
      program.calls.push_back({Call::Type::kWait, queue, 0, 0});
    }
  }
  for (std::uint32_t i = 0; i < launches; ++i) {
    program.calls.push_back(
        {Call::Type::kKernel, static_cast<std::uint8_t>(i % queues), 0, kind == Kind::kInner ? i % kInnerLength : i});
    if (kind == Kind::kFramework && (i + 1) % kBetweenHandovers == 0 && i + 1 != launches) {
      program.calls.push_back({Call::Type::kHandover, 0, 0, 0});
    }
  }
  for (std::uint8_t queue = 1; queue < queues; ++queue) {
    program.calls.push_back({Call::Type::kRecord, queue, queue, 0});
  }
  for (std::uint8_t queue = 1; queue < queues; ++queue) {
    program.calls.push_back({Call::Type::kWait, 0, queue, 0});
  }
  return program;
}

Ns Program::own_time(std::uint64_t interval, std::size_t call) const noexcept {
  if (calls[call].type != Call::Type::kKernel) {
    return 0;
  }
  if (!is_noisy()) {
    const bool is_stolen = stolen != 0 && interval % kBetweenStolen < 3 && call == calls.size() / 2;
    return before_call + (call % 8 == 7 ? pause : 0) + (is_stolen ? stolen : 0);
  }
  // A call takes 0.6 to 1.4 times as long as usual, one in 64 five times; and whole phases of 16 intervals up to a
  // tenth more or less.
  interval %= kNoisyIntervals;
  const std::uint64_t phase = capture::mix(interval / 16, 77) % 201;  // 1/1000, and 900
  const std::uint64_t any = capture::mix(interval * 65536 + call, 7);
  const std::uint64_t each = any % 64 == 0 ? 5000 : 600 + any / 64 % 801;
  return before_call * each / 1000 * (900 + phase) / 1000;
}

std::uint32_t Program::function(std::uint64_t interval, const Call& call) const noexcept {
  if (kind != Kind::kLengths) {
    return call.function;
  }
  // One in five is the same for all lengths, the others are for lengths of up to 32, 64, 96 or 128 more.
  const auto place = static_cast<std::uint32_t>(call.function % std::max<std::size_t>(launches / kLayers, 1));
  const std::uint64_t kernel = place % 5 == 0 ? 0 : length_of(interval) / (place % 5 * 32);
  return place * 64 + static_cast<std::uint32_t>(kernel);
}

std::uint64_t Program::argument(std::uint64_t interval, const Call& call) const noexcept {
  switch (kind) {
    case Kind::kScalar: return interval;
    case Kind::kFramework: return call.function % 5 == 0 ? interval % 3 : 0;
    case Kind::kLengths: return interval * launches + call.function;
    default: return 0;
  }
}

namespace {

/// An interval in the making, on an idle device.
class Interval {
 public:
  Interval(const Program& program, const Costs& costs, std::uint64_t number) noexcept
      : program_(program), costs_(costs), number_(number), device_(costs) {}

  void issue(const Call& call) noexcept {
    now_ += own_time(call);
    switch (call.type) {
      case Call::Type::kHandover: break;
      case Call::Type::kKernel:
        busy(costs_.eager_launch);
        device_.kernel(call.queue, program_.device, now_);
        break;
      case Call::Type::kRecord:
        busy(costs_.record);
        events_[call.event] = device_.record(call.queue);
        break;
      case Call::Type::kWait:
        busy(costs_.wait);
        device_.wait(call.queue, events_[call.event]);
        break;
    }
  }
  void launch(std::span<const Call> calls) {
    DeviceGraph graph;
    GraphLength length;
    std::array<std::uint32_t, kQueues> last{};  // node + 1
    std::array<std::uint32_t, kQueues> recorded{};
    std::size_t changes = 0;
    graph.main = calls.front().queue;
    std::uint32_t node = 0;
    for (const Call& call : calls) {
      now_ += own_time(call);
      busy(costs_.hold);
      graph.uses[call.queue] = true;
      std::array<std::uint32_t, 2> before{};
      std::size_t count = 0;
      if (last[call.queue] != 0) {
        before[count++] = last[call.queue] - 1;
      }
      if (call.type == Call::Type::kWait && recorded[call.event] != 0) {
        before[count++] = recorded[call.event] - 1;
      }
      const bool work = call.type == Call::Type::kKernel;
      length.add({before.data(), count}, work ? program_.device + costs_.graph_node : 0);
      last[call.queue] = ++node;
      if (call.type == Call::Type::kRecord) {
        recorded[call.event] = node;
      }
      changes += work && program_.argument(number_, call) != program_.argument(number_ + 1, call) ? 1 : 0;
    }
    graph.length = length.length();
    busy(changes * costs_.update + costs_.graph_launch.of(calls.size()));
    const Ns end = device_.launch(graph, now_);
    for (const Call& call : calls) {
      if (call.type == Call::Type::kRecord) {
        events_[call.event] = end;
      }
    }
  }
  Ns wait() noexcept {
    now_ += program_.before_wait;
    return std::max(now_, device_.idle_at()) + costs_.sync;
  }

 private:
  [[nodiscard]] Ns own_time(const Call& call) const noexcept {
    return program_.own_time(number_, static_cast<std::size_t>(&call - program_.calls.data()));
  }
  void busy(Ns ns) noexcept { now_ += program_.is_noisy() ? noisy(ns, number_ * 65536 + ++done_) : ns; }

  const Program& program_;
  const Costs& costs_;
  std::uint64_t number_;
  VirtualDevice device_;
  std::array<Ns, kQueues> events_{};
  Ns now_ = 0;
  std::uint64_t done_ = 0;
};

/// first, first * growth, … up to `most`; then, if `shrink`, pieces get shorter in the same way towards the end.
Plan growing(std::size_t calls, std::uint32_t first, std::uint32_t growth, std::uint32_t most, bool shrink) {
  Plan front;
  Plan back;
  std::size_t left = calls;
  std::uint32_t length = first;
  while (left != 0) {
    const auto piece = static_cast<std::uint32_t>(std::min<std::size_t>(length, left));
    front.push_back(piece);
    left -= piece;
    if (shrink && left != 0) {
      const auto other = static_cast<std::uint32_t>(std::min<std::size_t>(length, left));
      back.push_back(other);
      left -= other;
    }
    length = std::min(length * growth, most);
  }
  front.insert(front.end(), back.rbegin(), back.rend());
  return front;
}

Ns eager_interval(const Program& program, const Costs& costs, std::uint64_t number) {
  Interval interval(program, costs, number);
  for (const Call& call : program.calls) {
    interval.issue(call);
  }
  return interval.wait();
}

/// The mean of `interval(number)` over all kinds of intervals.
template <class One>
Ns mean_interval(const Program& program, One&& interval) {
  const std::uint64_t count = program.is_noisy() ? kNoisyIntervals : 1;
  Ns sum = 0;
  for (std::uint64_t number = 0; number < count; ++number) {
    sum += interval(number);
  }
  return sum / count;
}

}  // namespace

Ns eager_interval(const Program& program, const Costs& costs) {
  return mean_interval(program, [&](std::uint64_t number) { return eager_interval(program, costs, number); });
}

Ns eager_beginning(const Program& program, const Costs& costs) {
  Ns sum = 0;
  for (std::uint64_t number = 1; number < kLearning; ++number) {
    sum += eager_interval(program, costs, number);
  }
  return sum;
}

Ns planned_interval(const Program& program, const Costs& costs, const Plan& plan) {
  return mean_interval(program, [&](std::uint64_t number) {
    Interval interval(program, costs, number);
    std::size_t begin = 0;
    for (const std::uint32_t length : plan) {
      if (length == 1) {
        interval.issue(program.calls[begin]);
      } else {
        interval.launch(std::span(program.calls).subspan(begin, length));
      }
      begin += length;
    }
    return interval.wait();
  });
}

BestPlan best_plan(const Program& program, const Costs& costs) {
  const std::size_t calls = program.calls.size();
  BestPlan best{eager_interval(program, costs), "eager"};
  const auto consider = [&](const Plan& plan, const std::string& name) {
    const Ns interval = planned_interval(program, costs, plan);
    if (interval < best.interval) {
      best = {interval, name};
    }
  };
  if (!costs.can_update && program.kind == Kind::kScalar) {
    return best;  // nothing else is possible
  }
  if (program.kind == Kind::kForkJoin) {
    return best;  // the pieces of one queue are single launches; see docs/policy.md
  }
  consider({static_cast<std::uint32_t>(calls)}, "whole");
  for (const std::uint32_t length :
       {2U, 3U, 4U, 5U, 6U, 8U, 10U, 12U, 16U, 20U, 24U, 32U, 48U, 64U, 96U, 128U, 192U, 256U, 384U, 512U, 1024U}) {
    if (length < calls) {
      consider(growing(calls, length, 1, length, false), "equal " + std::to_string(length));
    }
  }
  for (const std::uint32_t first : {2U, 3U, 4U, 8U, 16U, 32U, 64U}) {
    for (const std::uint32_t growth : {2U, 4U}) {
      for (const std::uint32_t most : {8U, 16U, 32U, 64U, 128U, 256U, 512U, 1024U, 2048U}) {
        if (first < calls && most > first && most < 2 * calls) {
          for (const bool shrink : {false, true}) {
            consider(growing(calls, first, growth, most, shrink),
                     (shrink ? "symmetric " : "growing ") + std::to_string(first) + ":" + std::to_string(growth) + ":" +
                         std::to_string(most));
          }
        }
      }
    }
  }
  return best;
}

}  // namespace refrain::policy
