#include "test/schedules/touches.h"

#include <atomic>
#include <thread>

namespace portable::schedules {
namespace {

std::atomic<Word> host_calls{0};

/// All that was submitted to the first queue is before the record.
bool recorded(const Holder& holder, int at) {
  return !holder.apart && (at == 0 || at > 2);
}

}  // namespace

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

}  // namespace portable::schedules
