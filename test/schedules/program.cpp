// One thread holds, another one touches what is named by what is held: every kind of call, at every place of what
// repeats, and every two of them. Nothing is left to luck: while one thread acts the other one stands still. Prints
// what the threads saw and computed, which the API's rules fix.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/portable/kernels.h"
#include "test/portable/second_thread.h"

namespace {

using namespace portable;

constexpr Word kWords = 16;
constexpr std::size_t kBytes = kWords * sizeof(Word);
constexpr int kLength = 9;  ///< submissions of a round

/// The thread that holds: a loop on two queues, the second of which uses what the first one has computed, or which are
/// `apart`.
class Holder {
 public:
  Holder(Device& its_device, bool are_apart)
      : device(its_device),
        apart(are_apart),
        scaling(device.find_kernel("scale")),
        mixing(device.find_kernel("mix_in")) {
    std::array<Word, kWords> words{};
    for (Memory** memory : {&x, &y, &z, &w}) {
      *memory = device.allocate(memory == &x || memory == &z ? Place::kPinned : Place::kDevice, kBytes);
      device.write(first, {*memory, 0}, words.data(), kBytes);
    }
    device.record(first, forked);
    device.record(second, joined);
    device.synchronize(first);
    device.synchronize(second);
  }
  ~Holder() {
    for (Memory* memory : {x, y, z, w}) {
      device.release(memory);
    }
    device.release(forked);
    device.release(joined);
    device.release(scaling);
    device.release(mixing);
    device.release(first);
    device.release(second);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void submit(int step) { apart ? submit_apart(step) : submit_forked(step); }
  void submit_forked(int step) {
    const std::byte pattern[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    switch (step) {
      case 0: scale(device, first, scaling, x, kWords, 3, 1); break;
      case 1: mix_in(device, first, mixing, y, x, kWords, 2); break;
      case 2: device.record(first, forked); break;
      case 3: device.wait(second, forked); break;
      case 4: mix_in(device, second, mixing, z, x, kWords, 3); break;
      case 5: device.fill(second, {w, 0}, pattern, kBytes / 2); break;
      case 6: device.copy(second, {w, kBytes / 2}, {z, 0}, kBytes / 2); break;
      case 7: device.record(second, joined); break;
      default: device.wait(first, joined);
    }
  }
  void submit_apart(int step) {
    const std::byte pattern[2] = {std::byte{1}, std::byte{2}};
    switch (step) {
      case 0: scale(device, first, scaling, x, kWords, 3, 1); break;
      case 1: mix_in(device, second, mixing, z, w, kWords, 3); break;
      case 2: mix_in(device, first, mixing, y, x, kWords, 2); break;
      case 3: device.fill(first, {y, 0}, pattern, kBytes / 2); break;
      case 4: device.copy(second, {w, kBytes / 2}, {z, 0}, kBytes / 2); break;
      case 5: scale(device, second, scaling, w, kWords, 3, 1); break;
      case 6: scale(device, first, scaling, y, kWords, 5, 1); break;
      case 7: scale(device, second, scaling, z, kWords, 7, 1); break;
      default: scale(device, first, scaling, x, kWords, 9, 1);
    }
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      for (int step = 0; step < kLength; ++step) {
        submit(step);
      }
      device.synchronize(first);
      device.synchronize(second);
    }
  }
  [[nodiscard]] Word word_of(Memory* memory) const {
    Word word = 0;
    std::memcpy(&word, device.host(memory) + 4, sizeof(word));
    return word;
  }

  Device& device;
  const bool apart;
  Queue* first = device.make_queue(QueueKind::kInOrder);
  Queue* second = device.make_queue(QueueKind::kInOrder);
  Event* forked = device.make_event();
  Event* joined = device.make_event();
  Kernel* scaling;
  Kernel* mixing;
  Memory* x = nullptr;  ///< x and z can be read by the host
  Memory* y = nullptr;
  Memory* z = nullptr;
  Memory* w = nullptr;
};

/// What the other thread has of its own.
struct Other {
  explicit Other(Device& its_device)
      : device(its_device),
        queue(device.make_queue(QueueKind::kInOrder)),
        event(device.make_event()),
        back(device.make_event()),
        scaling(device.find_kernel("scale")),
        mixing(device.find_kernel("mix_in")),
        seen(device.allocate(Place::kPinned, kBytes)),
        lent(device.allocate(Place::kDevice, kBytes)) {
    const std::array<Word, kWords> words{};
    device.write(queue, {seen, 0}, words.data(), kBytes);
    device.write(queue, {lent, 0}, words.data(), kBytes);
    device.record(queue, back);
    device.synchronize(queue);
  }
  ~Other() {
    device.synchronize();
    device.release(seen);
    device.release(lent);
    device.release(scaling);
    device.release(mixing);
    device.release(event);
    device.release(back);
    device.release(queue);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  Device& device;
  Queue* queue;
  Event* event;
  Event* back;
  Kernel* scaling;
  Kernel* mixing;
  Memory* seen;  ///< can be read by the host
  Memory* lent;
};

struct Touch {
  const char* name;
  /// What it saw. `at`: so many of the round's submissions came before.
  std::function<Word(Holder& holder, Other& other, int at)> act;
  /// Where the API's rules say what is seen, if not everywhere.
  std::function<bool(const Holder& holder, int at)> fits = nullptr;
  bool destroys = false;  ///< what repeats is not the same afterwards
};

std::atomic<Word> host_calls{0};

/// All that was submitted to the first queue is before the record.
bool recorded(const Holder& holder, int at) {
  return !holder.apart && (at == 0 || at > 2);
}

/// As many as the API can express.
std::vector<Touch> all_touches(Device& device) {
  const auto can = [&](Feature feature) { return device.cannot(feature) == nullptr; };
  std::vector<Touch> touches{
      {"waits for a queue",
       [](Holder& holder, Other& other, int) {
         other.device.synchronize(holder.first);
         return holder.word_of(holder.x);
       }},
      {"waits for the second queue",
       [](Holder& holder, Other& other, int) {
         other.device.synchronize(holder.second);
         return holder.word_of(holder.z);
       }},
      {"waits for everything",
       [](Holder& holder, Other& other, int) {
         other.device.synchronize();
         return holder.word_of(holder.x) ^ holder.word_of(holder.z);
       }},
      {"waits for an event",
       [](Holder& holder, Other& other, int) {
         other.device.synchronize(holder.forked);
         return holder.word_of(holder.x);
       },
       recorded},
      {"asks for an event until it is done",
       [](Holder& holder, Other& other, int) {
         while (!other.device.done(holder.forked)) {
           std::this_thread::yield();
         }
         return holder.word_of(holder.x);
       },
       recorded},
      {"has its queue wait for an event, and copies",
       [](Holder& holder, Other& other, int) {
         other.device.wait(other.queue, holder.forked);
         other.device.copy(other.queue, {other.seen, 0}, {holder.x, 0}, kBytes);
         other.device.synchronize(other.queue);
         return holder.word_of(other.seen);
       },
       recorded},
      {"launches into a queue",
       [](Holder& holder, Other& other, int) {
         scale(other.device, holder.first, other.scaling, holder.y, kWords, 5, 2);
         return Word{0};
       }},
      {"launches into the second queue",
       [](Holder& holder, Other& other, int) {
         scale(other.device, holder.second, other.scaling, holder.z, kWords, 5, 2);
         return Word{0};
       }},
      {"fills in a queue",
       [](Holder& holder, Other& other, int) {
         const std::byte pattern[1] = {std::byte{7}};
         other.device.fill(holder.first, {holder.y, 0}, pattern, kBytes / 4);
         return Word{0};
       }},
      {"copies in the second queue",
       [](Holder& holder, Other& other, int) {
         other.device.copy(holder.second, {holder.w, 0}, {holder.w, kBytes / 2}, kBytes / 4);
         return Word{0};
       }},
      {"writes in a queue",
       [](Holder& holder, Other& other, int) {
         Word words[4] = {1, 2, 3, 4};
         other.device.write(holder.first, {holder.y, 16}, words, sizeof(words));
         std::memset(words, 0xFF, sizeof(words));
         return Word{0};
       }},
      {"reads in a queue",
       [](Holder& holder, Other& other, int) {
         Word words[4] = {};
         other.device.read(holder.first, words, {holder.y, 0}, sizeof(words));
         return words[1];
       }},
      {"reads in the second queue",
       [](Holder& holder, Other& other, int) {
         Word words[4] = {};
         other.device.read(holder.second, words, {holder.w, kBytes / 2}, sizeof(words));
         return words[1];
       }},
      {"records an event again",
       [](Holder& holder, Other& other, int) {
         other.device.record(holder.first, holder.forked);
         other.device.synchronize(holder.forked);
         return holder.word_of(holder.x);
       }},
      {"records an event elsewhere",
       [](Holder& holder, Other& other, int) {
         other.device.record(other.queue, holder.forked);
         other.device.synchronize(holder.forked);
         return Word{0};
       },
       [](const Holder& holder, int at) { return !holder.apart && at < 3; }},  // then the holder records it again
      {"has a queue wait for its own",
       [](Holder& holder, Other& other, int) {
         other.device.wait(other.queue, other.back);  // the last time
         scale(other.device, other.queue, other.scaling, other.lent, kWords, 3, 5);
         other.device.record(other.queue, other.event);
         other.device.wait(holder.first, other.event);
         mix_in(other.device, holder.first, other.mixing, holder.y, other.lent, kWords, 1);
         other.device.record(holder.first, other.back);
         return Word{0};
       }},
      {"is refused a call",
       [](Holder& holder, Other& other, int at) {
         return static_cast<Word>(other.device.refused(holder.first, holder.y, static_cast<unsigned>(at)));
       }},
      {"asks something else",
       [](Holder&, Other& other, int) {
         other.device.ask_something();
         return Word{0};
       }},
      {"makes and gives back memory",
       [](Holder&, Other& other, int) {
         other.device.release(other.device.allocate(Place::kDevice, kBytes));
         return Word{0};
       }},
      {"makes and gives back a queue",
       [](Holder&, Other& other, int) {
         Queue* const made = other.device.make_queue(QueueKind::kInOrder);
         scale(other.device, made, other.scaling, other.seen, kWords, 3, 5);
         other.device.synchronize(made);
         other.device.release(made);
         return Word{0};
       }},
      {"makes and gives back an event",
       [](Holder& holder, Other& other, int) {
         Event* const made = other.device.make_event();
         other.device.record(holder.first, made);
         other.device.synchronize(made);
         other.device.release(made);
         return holder.word_of(holder.x);
       }},
      {"finds a kernel",
       [](Holder&, Other& other, int) {
         other.device.release(other.device.find_kernel("mix_in"));
         return Word{0};
       }},
      {"puts a barrier into a queue",
       [](Holder& holder, Other& other, int) {
         other.device.barrier(holder.first);
         return Word{0};
       }},
      {"flushes a queue",
       [](Holder& holder, Other& other, int) {
         other.device.flush(holder.first);
         return Word{0};
       }},
      {"destroys a queue",
       [](Holder& holder, Other& other, int) {
         if (other.device.cannot(Feature::kReleaseQueue) != nullptr) {
           other.device.synchronize(holder.first);
         }
         other.device.release(holder.first);
         other.device.synchronize();
         holder.first = other.device.make_queue(QueueKind::kInOrder);
         return holder.word_of(holder.x);
       },
       {},
       true},
      {"gives back memory",
       [](Holder& holder, Other& other, int) {
         other.device.synchronize();
         other.device.release(holder.y);
         holder.y = other.device.allocate(Place::kDevice, kBytes);
         const std::array<Word, kWords> words{};
         other.device.write(holder.first, {holder.y, 0}, words.data(), kBytes);
         return Word{0};
       },
       {},
       true},
  };
  if (can(Feature::kQueryQueue)) {
    touches.push_back({"asks for a queue until it is done", [](Holder& holder, Other& other, int) {
                         while (!other.device.done(holder.first)) {
                           std::this_thread::yield();
                         }
                         return holder.word_of(holder.x);
                       }});
    touches.push_back({"asks for the second queue until it is done", [](Holder& holder, Other& other, int) {
                         while (!other.device.done(holder.second)) {
                           std::this_thread::yield();
                         }
                         return holder.word_of(holder.z);
                       }});
  }
  if (can(Feature::kHostFunction)) {
    touches.push_back({"puts a host function into a queue", [](Holder& holder, Other& other, int) {
                         other.device.host_function(
                             holder.first, [](void*) { ++host_calls; }, nullptr);
                         other.device.synchronize(holder.first);
                         return host_calls.load();
                       }});
  }
  if (can(Feature::kPrefetch)) {
    touches.push_back({"prefetches", [](Holder& holder, Other& other, int) {
                         other.device.prefetch(holder.first, {holder.y, 0}, kBytes);
                         return Word{0};
                       }});
  }
  if (can(Feature::kFreeInOrder)) {
    touches.push_back({"allocates and frees in order", [](Holder& holder, Other& other, int) {
                         Memory* const made = other.device.allocate_in_order(holder.first, kBytes);
                         const std::byte pattern[1] = {std::byte{7}};
                         other.device.fill(holder.first, {made, 0}, pattern, kBytes);
                         other.device.release_in_order(holder.first, made);
                         return Word{0};
                       }});
  }
  if (can(Feature::kOwnGraph)) {
    touches.push_back({"makes a graph of its own and launches it", [](Holder& holder, Other& other, int) {
                         other.device.begin_graph(other.queue);
                         scale(other.device, other.queue, other.scaling, holder.y, kWords, 3, 5);
                         Graph* const graph = other.device.end_graph(other.queue);
                         other.device.launch(holder.first, graph);
                         other.device.synchronize(holder.first);
                         other.device.release(graph);
                         return holder.word_of(holder.x);
                       }});
    touches.push_back({"makes a graph on a queue", [](Holder& holder, Other& other, int) {
                         other.device.begin_graph(holder.first);
                         scale(other.device, holder.first, other.scaling, holder.y, kWords, 3, 5);
                         other.device.release(other.device.end_graph(holder.first));
                         return Word{0};
                       }});
  }
  if (can(Feature::kSetter)) {
    for (const bool all : {false, true}) {
      touches.push_back(
          {all ? "sets something for all" : "sets something for a queue", [all](Holder& holder, Other& other, int at) {
             other.device.set(holder.first, all, static_cast<unsigned>(at), static_cast<unsigned>(at));
             const int status = other.device.launch_seen(holder.first, 0, holder.y);
             other.device.set(holder.first, all, static_cast<unsigned>(at), 0);
             return static_cast<Word>(status);
           }});
    }
  }
  if (can(Feature::kTimedEvent)) {
    touches.push_back({"takes the time in a queue", [](Holder& holder, Other& other, int) {
                         Event* const begin = other.device.make_event(true);
                         Event* const end = other.device.make_event(true);
                         other.device.record(holder.first, begin);
                         other.device.record(holder.first, end);
                         other.device.synchronize(end);
                         const bool fits = other.device.elapsed(begin, end) >= 0;
                         other.device.release(begin);
                         other.device.release(end);
                         return holder.word_of(holder.x) ^ (fits ? 1U : 0U);
                       }});
  }
  return touches;
}

/// The other thread, with what it has of its own.
class Toucher {
 public:
  explicit Toucher(Device& device) : thread_(device) {
    thread_.act([&] { other_.emplace(device); });
  }
  ~Toucher() {
    thread_.act([&] { other_.reset(); });
  }
  Toucher(const Toucher&) = delete;
  Toucher& operator=(const Toucher&) = delete;

  Word act(const std::function<Word(Other&)>& what) {
    Word saw = 0;
    thread_.act([&] { saw = what(*other_); });
    return saw;
  }

 private:
  std::optional<Other> other_;
  SecondThread thread_;
};

bool fits(const Touch& touch, const Holder& holder, int at) {
  return !touch.fits || touch.fits(holder, at);
}

/// A round in which the other thread acts before submission `first_at` (kLength: behind the last), and before
/// `second_at` again.
Word round_with(Holder& holder, Toucher& toucher, const Touch& first, int first_at, const Touch* second,
                int second_at) {
  Word saw = 0;
  for (int step = 0; step <= kLength; ++step) {
    for (const auto& [touch, at] : {std::pair(&first, first_at), std::pair(second, second_at)}) {
      if (touch != nullptr && step == at) {
        saw = saw * 31 + toucher.act([&, touch = touch](Other& other) { return touch->act(holder, other, step); });
      }
    }
    if (step < kLength) {
      holder.submit(step);
    }
  }
  holder.device.synchronize(holder.first);
  holder.device.synchronize(holder.second);
  for (Memory* memory : {holder.x, holder.y, holder.z, holder.w}) {
    std::array<Word, kWords> words{};
    holder.device.read(holder.first, words.data(), {memory, 0}, kBytes);
    for (const Word word : words) {
      saw = saw * 31 + word;
    }
  }
  return saw;
}

void singles(Holder& holder, Toucher& toucher, const std::vector<Touch>& touches) {
  for (const Touch& touch : touches) {
    for (int at = 0; at <= kLength; ++at) {
      if (fits(touch, holder, at)) {
        const Word saw = round_with(holder, toucher, touch, at, nullptr, 0);
        std::printf("%s, before %d: %08x\n", touch.name, at, saw);
        holder.rounds(touch.destroys ? 30 : 3);
      }
    }
  }
}

void pairs(Holder& holder, Toucher& toucher, const std::vector<Touch>& touches) {
  for (const Touch& first : touches) {
    Word all = 0;
    for (const Touch& second : touches) {
      for (int at = 0; at <= kLength && !first.destroys && !second.destroys; ++at) {
        for (const int again : {at, at + 2}) {
          if (again <= kLength && fits(first, holder, at) && fits(second, holder, again)) {
            all = all * 31 + round_with(holder, toucher, first, at, &second, again);
            holder.rounds(1);
          }
        }
      }
    }
    std::printf("%s, and then each: %08x\n", first.name, all);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  const std::string_view queues = argc == 3 ? argv[2] : "";
  if ((what != "singles" && what != "pairs") || (queues != "forked" && queues != "apart")) {
    std::fprintf(stderr, "usage: %s singles|pairs forked|apart\n", argv[0]);
    return 2;
  }
  const std::unique_ptr<Device> device = make_device();
  {
    Holder holder(*device, queues == "apart");
    Toucher toucher(*device);
    holder.rounds(60);
    const std::vector<Touch> touches = all_touches(*device);
    what == "singles" ? singles(holder, toucher, touches) : pairs(holder, toucher, touches);
  }
  std::puts("done");
  return 0;
}
