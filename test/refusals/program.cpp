// The driver refuses one call, whichever it is, while work is held: by the thread that submits, by what another thread
// waits for, in an update, while graphs are built, by the watchdog. The rules are those of a program without Refrain:
// what was refused is not done and is told once, to the thread whose work it was, by one of the calls up to the end of
// its next wait; nothing else is lost, and what was not refused to the program is not told. Prints what was not so.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/portable/calls.h"
#include "test/portable/kernels.h"
#include "test/portable/second_thread.h"
#include "test/support/refusal.h"

namespace {

using namespace portable;
using support::Refusal;

constexpr Word kWords = 16;
constexpr std::size_t kBytes = kWords * sizeof(Word);
constexpr int kSteps = 10;  ///< submissions of a round
constexpr int kNone = -1;
constexpr int kTurns = 4;  ///< of a call that is refused
constexpr int kPauseUs = 12000;
constexpr int kBeyond = 6;  ///< so many calls in a row that nobody makes: there are no more

using Words = std::array<Word, kWords>;
enum Which : unsigned char { kX, kY, kZ, kW };
constexpr std::size_t kMemories = 4;
using State = std::array<Words, kMemories>;

constexpr Word kPattern = 0x04030201;

// What a step does, as the host computes it.
void scale(Words& x, Word a, Word b) {
  for (Word& each : x) {
    each = each * a + b;
  }
}
void mix_in(Words& x, const Words& y, Word a) {
  for (std::size_t i = 0; i < kWords; ++i) {
    x[i] = x[i] * 31 + y[i] + a;
  }
}
void compute(int step, State& state, Word value) {
  auto& [x, y, z, w] = state;
  switch (step) {
    case 0: scale(x, 3, value); break;
    case 1: mix_in(z, w, value); break;
    case 3: mix_in(y, x, 2); break;
    case 5: std::fill_n(y.begin(), kWords / 2, kPattern); break;
    case 6: std::copy_n(z.begin(), kWords / 2, w.begin() + kWords / 2); break;
    case 7: scale(w, 3, 1); break;
    case 8: scale(y, 5, value); break;
    case 9: scale(z, 7, 1); break;
    default: break;  // an event is recorded, or waited for
  }
}
/// After a round in which step `lost` was not done.
State after(State state, Word value, int lost) {
  for (int step = 0; step < kSteps; ++step) {
    if (step != lost) {
      compute(step, state, value);
    }
  }
  return state;
}

/// Two queues, which have nothing of each other: whatever is refused, the rest has one result.
class Loop {
 public:
  /// Where an event stands for one command, what waits for a refused one is refused as well: no events there.
  explicit Loop(Device& its_device)
      : device(its_device),
        has_events_(device.cannot(Feature::kBlockingQueue) == nullptr),
        scaling_(device.find_kernel("scale")),
        mixing_(device.find_kernel("mix_in")) {
    const Place place = std::string_view(device.api()) == "opencl" ? Place::kDevice : Place::kPinned;
    const Words words{};
    for (Memory*& each : memory_) {
      each = device.allocate(place, kBytes);
      device.write(first, {each, 0}, words.data(), kBytes);
    }
    device.synchronize();
  }
  ~Loop() {
    device.synchronize();
    for (Memory* each : memory_) {
      device.release(each);
    }
    device.release(event_);
    device.release(scaling_);
    device.release(mixing_);
    device.release(first);
    device.release(second);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void submit(int step, Word value, unsigned threads) {
    const std::byte pattern[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    const auto scale_by = [&](Queue* queue, Which x, Word a, Word b) {
      portable::launch(device, queue, scaling_, threads, {}, memory_[x], kWords, a, b);
    };
    const auto mix = [&](Queue* queue, Which x, Which y, Word a) {
      portable::launch(device, queue, mixing_, threads, {}, memory_[x], memory_[y], kWords, a);
    };
    switch (step) {
      case 0: scale_by(first, kX, 3, value); break;
      case 1: mix(second, kZ, kW, value); break;
      case 2: has_events_ ? device.record(first, event_) : void(); break;
      case 3: mix(first, kY, kX, 2); break;
      case 4: has_events_ ? device.wait(second, event_) : void(); break;
      case 5: device.fill(first, {memory_[kY], 0}, pattern, kBytes / 2); break;
      case 6: device.copy(second, {memory_[kW], kBytes / 2}, {memory_[kZ], 0}, kBytes / 2); break;
      case 7: scale_by(second, kW, 3, 1); break;
      case 8: scale_by(first, kY, 5, value); break;
      default: scale_by(second, kZ, 7, 1);
    }
  }
  [[nodiscard]] State read() {
    State state{};
    for (std::size_t i = 0; i < kMemories; ++i) {
      if (memory_[i]->place == Place::kPinned) {
        std::memcpy(state[i].data(), device.host(memory_[i]), kBytes);
      } else {
        device.read(first, state[i].data(), {memory_[i], 0}, kBytes);
      }
    }
    return state;
  }

  Device& device;
  Queue* first = device.make_queue(QueueKind::kInOrder);
  Queue* second = device.make_queue(QueueKind::kInOrder);

 private:
  bool has_events_;
  Event* event_ = device.make_event();
  Kernel* scaling_;
  Kernel* mixing_;
  std::array<Memory*, kMemories> memory_{};
};

/// Calls of one thread, and the errors they were told.
struct Told {
  std::vector<long long> errors;

  template <class Call>
  bool call(Call&& that) {
    try {
      that();
      return true;
    } catch (const Refused& refused) {
      errors.push_back(refused.error);
      return false;
    }
  }
  void wait_for(Device& device, Queue* queue) {
    for (int turn = 0; turn < kTurns && !call([&] { device.synchronize(queue); }); ++turn) {
    }
  }
};

struct Way {
  const char* name;
  bool others_wait;  ///< another thread waits in the middle of a round
  bool pauses;       ///< nobody calls for a while in the middle of the round in which a call is refused
  bool changes;      ///< each round has another number
  bool is_new;       ///< calls that make graphs are refused, from the first round of its kind on
  bool others_only;  ///< only calls that come from no thread of the program are refused
};
constexpr Way kWays[] = {
    {"by its own thread", false, false, false, false, false},
    {"when another thread waits", true, false, false, false, false},
    {"with other numbers", false, false, true, false, false},
    {"while graphs are built", false, false, false, true, false},
    {"in other threads, while graphs are built", false, false, false, true, true},
};
constexpr Way kPause = {"by the watchdog", false, true, false, false, true};

/// Functions whose name contains this make graphs, or use them.
std::string_view graph_call(std::string_view api) {
  return api == "opencl" ? "CommandBuffer" : api == "level_zero" ? "CommandListC" : "Graph";
}

/// Whether the program's own calls of this name change memory.
bool has_data(std::string_view name) {
  if (name.find("Graph") != std::string_view::npos) {
    return false;
  }
  for (const char* part :
       {"Launch", "NDRange", "Memcpy", "Memset", "MemFill", "MemoryCopy", "MemoryFill", "CopyBuffer", "FillBuffer"}) {
    if (name.find(part) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

class Trials {
 public:
  Trials(Device& device, Refusal& refusal) : device_(device), refusal_(refusal) {
    refusal_.add_thread();
    other_.act([&] { refusal_.add_thread(); });
  }

  /// Refuses one call after the other, until there are no more of them.
  void go_through(const Way& way, int step) {
    for (int number = 1, beyond = 0; beyond < kBeyond; number += step) {
      beyond = trial(way, number) ? 0 : beyond + 1;
    }
  }
  [[nodiscard]] const std::set<long long>& codes() const { return codes_; }
  [[nodiscard]] bool as_the_rules_say() const { return wrong_ == 0; }
  /// False if there is no such call. Says which one was refused.
  bool trial(const Way& way, int number) {
    threads_ = threads_ > 1000 ? 65 : threads_ + 2;  // odd, so that blocks differ: no graph of before fits
    if (!way.is_new) {
      for (int i = 0; i < kWarm; ++i) {
        check(way, number, round(way), "before anything was refused");
        if (i % kBetween == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(kBuildUs));
        }
      }
    }
    refusal_.refuse(number, way.is_new ? graph_call(device_.api()) : "", way.others_only);
    std::string name;
    for (int i = 0; i < (way.is_new ? kWarm : 1) && name.empty(); ++i) {
      const Tolerant tolerant;
      const Outcome outcome = round(way, way.pauses);
      name = refusal_.name();
      check(way, number, outcome, name);
    }
    refusal_.forget();
    check(way, number, round(way), "after it");
    if (!name.empty()) {
      std::fprintf(stderr, "refused %s: %s\n", way.name, name.c_str());
    }
    return !name.empty();
  }

 private:
  struct Outcome {
    Told holder;
    Told other;
    bool fits = false;  ///< as if at most one step had been lost
    int lost = kNone;
  };

  Outcome round(const Way& way, bool pauses = false) {
    Outcome outcome;
    Told& told = outcome.holder;
    const Word value = way.changes ? ++value_ : 1;
    for (int step = 0; step < kSteps; ++step) {
      if (step == 6 && way.others_wait) {
        other_.act([&] {
          const Tolerant tolerant;
          outcome.other.wait_for(device_, loop_.first);
          outcome.other.wait_for(device_, loop_.second);
        });
      }
      if (step == 6 && pauses) {
        std::this_thread::sleep_for(std::chrono::microseconds(kPauseUs));
      }
      told.call([&] { loop_.submit(step, value, threads_); });
    }
    told.wait_for(device_, loop_.first);
    told.wait_for(device_, loop_.second);
    State now{};
    for (int turn = 0; turn < kTurns && !told.call([&] { now = loop_.read(); }); ++turn) {
    }
    for (int lost = kNone; lost < kSteps && !outcome.fits; ++lost) {
      outcome.fits = now == after(state_, value, lost);
      outcome.lost = lost;
    }
    state_ = now;
    return outcome;
  }

  void check(const Way& way, int number, const Outcome& outcome, const std::string& refused) {
    const std::size_t told = outcome.holder.errors.size();
    const std::size_t told_other = outcome.other.errors.size();
    codes_.insert(outcome.holder.errors.begin(), outcome.holder.errors.end());
    codes_.insert(outcome.other.errors.begin(), outcome.other.errors.end());
    const bool lost = outcome.lost != kNone;
    const char* wrong = nullptr;
    if (!outcome.fits) {
      wrong = "more than one submission was lost";
    } else if (told + told_other > 1) {
      wrong = "one refusal was told more than once";
    } else if (lost && told == 0) {
      wrong = told_other == 0 ? "a submission was lost, and nobody was told"
                              : "a submission was lost, and another thread than its own was told";
    } else if (!lost && told != 0 && has_data(refused)) {
      wrong = "an error was told, and nothing was lost";
    } else if (told_other != 0 && has_data(refused)) {
      wrong = "another thread was told";
    } else if (refused.empty() && (told + told_other != 0 || lost)) {
      wrong = "nothing was refused, but told or lost";
    }
    if (wrong != nullptr && ++wrong_ <= 20) {
      std::printf("%s, call %d (%s): %s; step %d, told", way.name, number, refused.c_str(), wrong, outcome.lost);
      for (const long long each : outcome.holder.errors) {
        std::printf(" %lld", each);
      }
      std::printf("\n");
    }
  }

  static constexpr int kWarm = 60;  ///< rounds until what repeats is held
  static constexpr int kBetween = 20;
  static constexpr int kBuildUs = 2000;  ///< in which graphs are built
  Device& device_;
  Refusal& refusal_;
  Loop loop_{device_};
  SecondThread other_{device_};
  State state_{};
  unsigned threads_ = 65;
  Word value_ = 1;
  std::set<long long> codes_;
  int wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  const int number = argc == 3 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 0;
  Refusal* const refusal = Refusal::find();
  if ((what != "every" && what != "pause") || number < 1 || refusal == nullptr) {
    std::fprintf(stderr, "usage: REFUSAL_FILE=... %s every STEP | pause NUMBER\n", argv[0]);
    return 2;
  }
  const std::unique_ptr<Device> device = make_device();
  {
    Trials trials(*device, *refusal);
    if (what == "pause") {  // once: then it is known that there are pauses
      (void)trials.trial(kPause, number);
    } else {
      for (const Way& way : kWays) {
        trials.go_through(way, number);
      }
    }
    for (const long long code : trials.codes()) {
      std::printf("told: %lld\n", code);
    }
    if (!trials.as_the_rules_say()) {
      return 1;
    }
  }
  std::puts("done");
  return 0;
}
