// Small programs for the rows of docs/conformance.md, over any API, as anybody would write them: no Refrain in here.
// Each prints what it computed.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "test/portable/kernels.h"

namespace conformance {

using portable::Device;
using portable::Event;
using portable::Feature;
using portable::Graph;
using portable::Kernel;
using portable::Memory;
using portable::Order;
using portable::Place;
using portable::Queue;
using portable::QueueKind;
using portable::Word;

inline constexpr Word kWords = 64;
inline constexpr std::size_t kBytes = kWords * sizeof(Word);
inline constexpr unsigned kRounds = 150;

/// A device with a queue, the kernels, and memory filled with 1, 2, … and so on. Everything is released in the end.
struct Bench {
  explicit Bench(Device& device_used);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Memory* memory(Word seed, Place place = Place::kDevice);
  Queue* another_queue();
  Event* event();
  void fill_words(Memory* to, Word seed);
  /// Waits for everything, and prints a hash.
  void print(const char* name, Memory* from);
  void print(const char* name, std::uint64_t value);
  void free(Memory* one);

  Device& device;
  Queue* queue;
  Kernel *scale, *mix_in, *odd, *wide, *store, *busy;
  std::vector<Memory*> all_memory;
  std::vector<Queue*> queues;
  std::vector<Event*> events;
};

/// Lets the background thread of whoever is interested work for a moment, as programs do that compute something.
void pause_briefly();

using Function = void (*)(Bench&);
struct Registration {
  Registration(const char* name, Function function);
};
const std::vector<std::pair<std::string, Function>>& all();
#define PROGRAM(name)                                                       \
  static void name(Bench& bench);                                           \
  static const ::conformance::Registration registered_##name(#name, &name); \
  static void name(Bench& bench)

}  // namespace conformance
