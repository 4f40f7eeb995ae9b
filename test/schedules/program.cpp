// One thread holds, another one touches what is named by what is held: every kind of call, at every place of what
// repeats, and every two of them. Nothing is left to luck: while one thread acts the other one stands still. Prints
// what the threads saw and computed, which the API's rules fix.
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "test/portable/second_thread.h"
#include "test/schedules/touches.h"

namespace {

using namespace portable;
using namespace portable::schedules;

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
