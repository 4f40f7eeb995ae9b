#include "test/conformance/programs.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "test/portable/calls.h"

namespace conformance {
namespace {

std::vector<std::pair<std::string, Function>>& registered() {
  static std::vector<std::pair<std::string, Function>> programs;
  return programs;
}

}  // namespace

Registration::Registration(const char* name, Function function) {
  registered().emplace_back(name, function);
}
const std::vector<std::pair<std::string, Function>>& all() {
  return registered();
}

Bench::Bench(Device& device_used) : device(device_used), queue(device.make_queue(QueueKind::kInOrder)) {
  scale = device.find_kernel("scale");
  mix_in = device.find_kernel("mix_in");
  odd = device.find_kernel("odd");
  wide = device.find_kernel("wide");
  store = device.find_kernel("store");
  busy = device.find_kernel("busy");
}

Bench::~Bench() {
  device.synchronize();
  for (Kernel* kernel : {scale, mix_in, odd, wide, store, busy}) {
    device.release(kernel);
  }
  for (Memory* one : all_memory) {
    device.release(one);
  }
  for (Event* each : events) {
    device.release(each);
  }
  for (Queue* each : queues) {
    device.release(each);
  }
  device.release(queue);
}

void Bench::fill_words(Memory* to, Word seed) {
  Word words[kWords];
  for (Word& word : words) {
    word = seed++;
  }
  device.write(queue, {to, 0}, words, kBytes);
  device.synchronize(queue);
}

Memory* Bench::memory(Word seed, Place place) {
  all_memory.push_back(device.allocate(place, kBytes));
  fill_words(all_memory.back(), seed);
  return all_memory.back();
}

void Bench::free(Memory* one) {
  std::erase(all_memory, one);
  device.release(one);
}

Queue* Bench::another_queue() {
  queues.push_back(device.make_queue(QueueKind::kInOrder));
  return queues.back();
}

Event* Bench::event() {
  events.push_back(device.make_event());
  return events.back();
}

void Bench::print(const char* name, std::uint64_t value) {
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(value));
}

void Bench::print(const char* name, Memory* from) {
  device.synchronize();
  Word words[kWords];
  device.read(queue, words, {from, 0}, kBytes);
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const Word word : words) {
    hash = (hash ^ word) * 0x100000001B3ULL;
  }
  print(name, hash);
}

void pause_briefly() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace conformance

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const auto device = portable::make_device();
  if (wanted == "cannot") {  // what the API cannot express, one line each
    for (int i = 0; i < portable::kFeatures; ++i) {
      const auto feature = static_cast<portable::Feature>(i);
      const char* why = device->cannot(feature);
      std::printf("%d %s\n", i, why == nullptr ? "" : why);
    }
    return 0;
  }
  for (const auto& [name, function] : conformance::all()) {
    if (name == wanted) {
      {
        conformance::Bench bench(*device);
        function(bench);
      }
      std::printf("end\n");
      return 0;
    }
  }
  std::fprintf(stderr, "no program '%s'\n", wanted.c_str());
  return 2;
}
