// The two threads of a schedule: one that holds, and what another one can do to what is held.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "test/portable/kernels.h"

namespace portable::schedules {

inline constexpr Word kWords = 16;
inline constexpr std::size_t kBytes = kWords * sizeof(Word);
inline constexpr int kLength = 9;  ///< submissions of a round

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

/// As many as the API can express.
std::vector<Touch> all_touches(Device& device);

}  // namespace portable::schedules
