#include "test/property/machine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "test/portable/calls.h"
#include "test/portable/kernels.h"
#include "test/property/gate_watch.h"
#include "test/property/noise.h"
#include "test/property/shared.h"
#include "test/property/words.h"
#include "test/support/meeting.h"

namespace property {
namespace {

using namespace portable;
constexpr unsigned kMuchShared = 65536;  ///< dynamic shared memory, more than kernels get unless they ask for it

class Worker {
 public:
  explicit Worker(Shared& shared) : shared_(shared), device_(shared.device) {
    static constexpr const char* kNames[] = {"scale", "mix_in", "odd", "wide", "store", "busy"};
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      kernels_[i] = device_.find_kernel(kNames[i]);
    }
  }
  ~Worker() {
    const std::lock_guard lock(shared_.kernels_mutex);
    for (Kernel* kernel : kernels_) {
      if (shared_.program.release_waits) {
        device_.release(kernel);
      } else {
        shared_.kernels.push_back(kernel);
      }
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(const Block& block) {
    for (unsigned i = 0; i < block.iterations; ++i) {
      for (const Step& step : block.steps) {
        open(step.opens);
        run(step, i);
      }
      open(block.opens);
    }
  }
  [[nodiscard]] std::uint64_t values() const { return values_; }

 private:
  [[nodiscard]] Memory* memory(int index) const { return shared_.memory[static_cast<std::size_t>(index)]; }
  [[nodiscard]] Event* event(int number) const { return shared_.events[static_cast<std::size_t>(number)]; }
  [[nodiscard]] bool recorded(int number) const {
    return number >= 0 && shared_.recorded[static_cast<std::size_t>(number)] != 0;
  }

  void open(const std::vector<int>& gates) const {
    for (const int gate : gates) {
      device_.open(shared_.gates[static_cast<std::size_t>(gate)]);
    }
  }

  void run(const Step& step, unsigned iteration) {
    if (submits(step.kind)) {
      submit(step, iteration);
    } else {
      for (const Wait& wait : step.waits) {
        if (recorded(wait.event) && !submits_some(step.kind)) {
          device_.synchronize(event(wait.event));
        }
      }
      act(step, step.value + step.change * iteration);
    }
    ask(step, iteration);
  }

  /// To a question: it counts if there is only one right answer.
  void answer(const Step& step, bool done, const char* what, int number) {
    mix_into(&values_, step.certain || step.gated ? std::uint64_t{done} : 7);
    if (step.certain && !done) {  // for who reads it
      std::fprintf(stderr, "program %" PRIu64 ", step %d: %s%d is said not to be done\n", shared_.program.seed, step.id,
                   what, number);
    }
    if (step.gated && done) {  // for who reads it
      std::fprintf(stderr, "program %" PRIu64 ", step %d: %s%d is said to be done, behind a closed gate\n",
                   shared_.program.seed, step.id, what, number);
    }
  }

  void ask(const Step& step, unsigned iteration) {
    const auto answered = [&](bool done, const char* what, int number) {
      mix_into(&values_, std::uint64_t{done});
      if (!done) {  // for who reads it: the values say so, too
        std::fprintf(stderr, "program %" PRIu64 ", step %d, iteration %u: %s%d is said not to be done\n",
                     shared_.program.seed, step.id, iteration, what, number);
      }
    };
    if (device_.cannot(Feature::kQueryQueue) == nullptr) {
      for (const int queue : step.done_queues) {
        answered(device_.done(shared_.queues[static_cast<std::size_t>(queue)]), "q", queue);
      }
    }
    for (const int number : step.done_events) {
      if (recorded(number)) {
        answered(device_.done(event(number)), "e", number);
      }
    }
  }

  void submit(const Step& step, unsigned iteration) {
    Queue* queue = shared_.queues[static_cast<std::size_t>(step.queue)];
    std::vector<Event*> after;
    for (const Wait& wait : step.waits) {
      if (recorded(wait.event)) {
        after.push_back(event(wait.event));
      }
    }
    const bool unordered = queue->kind == QueueKind::kOutOfOrder;
    const bool marker = step.kind == Kind::kMarker || step.kind == Kind::kBarrier || step.kind == Kind::kClose ||
                        step.kind == Kind::kPost;
    const bool by_list = (step.by_list || unordered || step.kind == Kind::kGraph) && !marker;
    Order order;
    if (by_list) {
      order = {after, step.event >= 0 ? event(step.event) : nullptr};
    } else {
      for (Event* each : after) {
        device_.wait(queue, each);
      }
    }
    issue(step, iteration, queue, order);
    if (!by_list && step.event >= 0) {
      device_.record(queue, event(step.event));
    }
    if (step.event >= 0) {
      shared_.recorded[static_cast<std::size_t>(step.event)] = 1;
    }
  }

  void issue(const Step& step, unsigned iteration, Queue* queue, const Order& order) {
    const bool swapped = step.alternates && iteration % 2 != 0;
    Memory* to = memory(swapped ? step.from : step.to);
    Memory* from = memory(swapped ? step.to : step.from);
    const Word value = step.value + step.change * iteration;
    const std::size_t offset = step.offset * sizeof(Word);
    const Word words = step.words_in(iteration);
    const std::size_t bytes = words * sizeof(Word);
    switch (step.kind) {
      case Kind::kScale: scale(device_, queue, kernels_[0], to, kWords, 2 * value + 1, value, order); break;
      case Kind::kMix: mix_in(device_, queue, kernels_[1], to, from, kWords, value, order); break;
      case Kind::kOdd:
        launch(device_, queue, kernels_[2], (words + 3) / 4 * 4, order, static_cast<unsigned char>(value), to,
               static_cast<unsigned short>(value * 3), std::uint64_t{value} << 33U);
        break;
      case Kind::kWide: {
        Wide wide{};
        for (Word& word : wide.values) {
          word = value + static_cast<Word>(&word - wide.values);
        }
        launch(device_, queue, kernels_[3], kWords, order, wide, to);
        wide = {};
        break;
      }
      case Kind::kStore: launch(device_, queue, kernels_[4], 1, order, to, value); break;
      case Kind::kBusy: launch(device_, queue, kernels_[5], 1, order, to, value % 40); break;
      case Kind::kCopy: device_.copy(queue, {to, offset}, {from, 0}, bytes, order); break;
      case Kind::kRectangle:
        device_.copy_rectangle(queue, {to, 32 + 4 * (value % 3), 16, 64}, {from, 4, 32, 128}, {8, 3, 1}, order);
        break;
      case Kind::kFill: {
        std::array<std::byte, 16> pattern;
        for (std::size_t i = 0; i < pattern.size(); ++i) {
          pattern[i] = static_cast<std::byte>(value + i * 7);
        }
        device_.fill(queue, {to, offset}, std::span(pattern).first(step.pattern), bytes / step.pattern * step.pattern,
                     order);
        pattern.fill(std::byte{0xEE});
        break;
      }
      case Kind::kWrite: {
        Words source = words_of(value * 1000);
        device_.write(queue, {to, 0}, source.data(), kBytes / 2, order);
        source.fill(0xBADBAD);
        break;
      }
      case Kind::kRead: {
        Words target{};
        device_.read(queue, target.data(), {from, 0}, kBytes, order);
        mix_into(&values_, std::as_bytes(std::span(target)));
        break;
      }
      case Kind::kHostFunction:
        device_.host_function(
            queue,
            [](void* data) {
              auto* const all = static_cast<Word*>(data);
              all[3] = all[3] * 5 + all[4] + 1;
            },
            device_.host(to), order);
        break;
      case Kind::kWriteValue: device_.write_value(queue, {to, 20}, value, order); break;
      case Kind::kPrefetch: {  // to one place or another
        const std::size_t start = step.value % 2 * sizeof(Word);
        device_.prefetch(queue, {to, start}, kBytes - start, order);
        break;
      }
      case Kind::kGraph: launch_graph(step.value, queue, order); break;
      case Kind::kSeen:
        mix_into(&values_, static_cast<std::uint64_t>(device_.launch_seen(queue, value % 3 == 0 ? kMuchShared : 0, to,
                                                                          order, step.version_in(iteration))));
        break;
      case Kind::kClose:
        if (!step.moot && shared_.watch->closes(step.value)) {
          device_.close(queue, shared_.gates[step.value]);
        }
        break;
      case Kind::kPost:
        if (!step.moot) {
          device_.open(queue, shared_.gates[step.value]);
        }
        break;
      case Kind::kBarrier: device_.barrier(queue); break;
      default: break;  // a marker
    }
  }

  void launch_graph(Word number, Queue* queue, Order order) {
    if (!shared_.program.graph_in_flight) {
      Event*& done = shared_.graph_done[number];
      device_.synchronize(done);
      done = order.event == nullptr ? shared_.graph_events[number] : order.event;
      order.event = done;
    }
    device_.launch(queue, shared_.graphs[number], order);
  }

  void act(const Step& step, Word value) {
    Queue*& queue = shared_.queues[static_cast<std::size_t>(step.queue)];
    Memory*& to = shared_.memory[static_cast<std::size_t>(step.to)];
    Event* other = step.other_event >= 0 ? event(step.other_event) : nullptr;
    const bool has_other = recorded(step.other_event);
    switch (step.kind) {
      case Kind::kFlush: device_.flush(queue); break;
      case Kind::kLook: mix_into(&values_, {device_.host(to), kBytes}); break;
      case Kind::kScribble: {
        const Words words = words_of(value * 77);
        std::memcpy(device_.host(to) + 8, words.data(), kBytes / 4);
        break;
      }
      case Kind::kAskEvent:
        if (has_other) {
          answer(step, device_.done(other), "e", step.other_event);
        }
        break;
      case Kind::kAskQueue: answer(step, device_.done(queue), "q", step.queue); break;
      case Kind::kPoll:
        while (has_other && !device_.done(other)) {
          discount_call();  // all of them count as one
        }
        break;
      case Kind::kWaitEvent:
        if (has_other) {
          device_.synchronize(other);
        }
        break;
      case Kind::kWaitQueue: device_.synchronize(queue); break;
      case Kind::kWaitDevice: device_.synchronize(); break;
      case Kind::kAskSomething: device_.ask_something(); break;
      case Kind::kSet:
        // What other threads share stays as it is.
        device_.set(queue, shared_.program.threads == 1 && value % 4 != 0, step.value, value / 5);
        break;
      case Kind::kRefused:
        mix_into(&values_, static_cast<std::uint64_t>(device_.refused(queue, to, step.value)));
        break;
      case Kind::kReplaceMemory:
        device_.use_device(to->device);
        device_.release(to);
        to = device_.allocate(Place::kDevice, kBytes);
        renew(queue, to, value);
        break;
      case Kind::kReplaceInOrder: replace_in_order(step, queue, &to, value); break;
      case Kind::kTemporary:
        use_temporary(step, queue, to, shared_.memory[static_cast<std::size_t>(step.from)], value);
        break;
      case Kind::kReplaceQueue: {
        const QueueKind kind = queue->kind;
        if (!shared_.program.release_queue) {
          device_.synchronize(queue);
        }
        device_.use_device(queue->device);
        device_.release(queue);
        queue = device_.make_queue(kind);
        break;
      }
      case Kind::kReplaceEvent:
        if (has_other) {
          device_.synchronize(other);
          for (std::size_t i = 0; i < shared_.graphs.size(); ++i) {
            Event* expected = other;
            std::atomic_ref<Event*>(shared_.graph_done[i]).compare_exchange_strong(expected, shared_.graph_events[i]);
          }
          device_.release(other);
          shared_.events[static_cast<std::size_t>(step.other_event)] = device_.make_event();
          shared_.recorded[static_cast<std::size_t>(step.other_event)] = 0;
        }
        break;
      case Kind::kPause: std::this_thread::sleep_for(std::chrono::microseconds(300 + 60 * step.value)); break;
      default: break;
    }
  }

  void renew(Queue* queue, Memory* to, Word value) {
    const Words words = words_of(value);
    device_.write(queue, {to, 0}, words.data(), kBytes);
    device_.synchronize(queue);
  }

  void begin_some(const Step& step, Queue* queue) {
    for (const Wait& wait : step.waits) {
      if (recorded(wait.event)) {
        device_.wait(queue, event(wait.event));
      }
    }
  }
  void end_some(const Step& step, Queue* queue) {
    if (step.event >= 0) {
      device_.record(queue, event(step.event));
      shared_.recorded[static_cast<std::size_t>(step.event)] = 1;
    }
  }

  void replace_in_order(const Step& step, Queue* queue, Memory** to, Word value) {
    begin_some(step, queue);
    device_.release_in_order(queue, *to);
    if (value % 8 == 7) {
      device_.ask_of_memory(value / 8);
    }
    *to = device_.allocate_in_order(queue, value % 3 == 0 ? 2 * kBytes : kBytes);
    if (value % 2 == 0) {
      const Words words = words_of(value);
      device_.write(queue, {*to, 0}, words.data(), kBytes);
    } else {
      device_.fill(queue, {*to, 0}, std::as_bytes(std::span(&value, 1)), kBytes);
    }
    end_some(step, queue);
  }

  void use_temporary(const Step& step, Queue* queue, Memory* to, Memory* from, Word value) {
    begin_some(step, queue);
    Memory* const own = device_.allocate_in_order(queue, value % 3 == 0 ? 2 * kBytes : kBytes);
    device_.copy(queue, {own, 0}, {from, 0}, kBytes);
    const Word count = kWords;
    const Word factor = 2 * value + 1;
    const Argument arguments[] = {portable::argument(own), portable::argument(count), portable::argument(factor),
                                  portable::argument(value)};
    device_.launch(queue, kernels_[0], 64, arguments);
    device_.copy(queue, {to, 0}, {own, 0}, kBytes);
    device_.release_in_order(queue, own);
    end_some(step, queue);
  }

  Shared& shared_;
  Device& device_;
  Kernel* kernels_[6] = {};
  std::uint64_t values_ = 0xCBF29CE484222325ULL;
};

/// PoCL 3.1: a program's own command buffers do not go with other threads that submit (generate.cpp).
bool bears_noise(const Program& program, const Device& device) {
  return program.graphs.empty() || std::string_view(device.api()) != "opencl";
}
/// The default queue is done when all are that it waits for.
bool may_block(const Program& program, const Device& device) {
  return device.cannot(Feature::kBlockingQueue) == nullptr &&
         std::ranges::find(program.queues, QueueKind::kDefault) == program.queues.end();
}

}  // namespace

Result run(const Program& program, Device& device, const Conditions& conditions) {
  Shared shared{program, device, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  set_up(shared);
  GateWatch watch(device, shared.gates, conditions.gate_limit);
  shared.watch = &watch;
  const std::uint64_t noise = conditions.noise;
  std::optional<Noise> beside;
  if (noise != 0 && bears_noise(program, device)) {
    beside.emplace(device, noise, may_block(program, device));
  }
  refrain::test::Meeting meeting(program.threads);
  std::vector<std::uint64_t> values(static_cast<std::size_t>(program.threads));
  const auto body = [&](std::size_t number) {
    device.enter_thread();
    Worker worker(shared);
    for (const Phase& phase : program.phases) {
      for (const Block& block : phase.threads[number]) {
        worker.run(block);
      }
      meeting.arrive_and_wait();
    }
    values[number] = worker.values();
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < program.threads; ++i) {
    threads.emplace_back(body, static_cast<std::size_t>(i));
  }
  body(0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  beside.reset();
  Result result = finish(shared);
  result.late = watch.late();
  result.values = 0xCBF29CE484222325ULL;
  for (const std::uint64_t each : values) {
    mix_into(&result.values, each);
  }
  return result;
}

}  // namespace property
