// What one thread repeats: blocks of a random program.
#pragma once

#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "test/property/program.h"

namespace property {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15ULL) {}
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(static_cast<unsigned>(list.size()))];
  }
  std::mt19937_64& engine() { return random_; }

 private:
  std::mt19937_64 random_;
};

/// What a thread may use in a phase.
struct Owned {
  std::vector<int> queues, memory, readable;
  std::vector<Word> graphs;
  [[nodiscard]] bool has(const std::vector<GraphStep>& graph) const;
};

class BlockMaker {
 public:
  /// `program` has its queues, memory and graphs; gates are added to it.
  BlockMaker(Dice& dice, Program& program, const portable::Device& device, bool all_kinds)
      : dice_(dice), program_(program), device_(device), all_kinds_(all_kinds) {}

  Block make(const Owned& owned);
  /// A queue waits while others go on, are waited for and asked, and then it is told to go on: by the host, or by
  /// another queue. What is behind the gate and what is not have nothing in common meanwhile.
  Block make_gated(const Owned& owned);
  /// A loop of kernels, most of which see what is set.
  Block make_seeing(const Owned& owned);
  /// Changes what is set, once.
  Block make_setting(const Owned& owned);
  /// The same steps as steps of their own, perhaps with one that differs.
  Block again(const Block& old, const Owned& owned);

 private:
  unsigned below(unsigned limit) { return dice_.below(limit); }
  bool chance(unsigned percent) { return dice_.chance(percent); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return dice_.one_of(list);
  }
  [[nodiscard]] bool can(portable::Feature feature) const { return device_.cannot(feature) == nullptr; }
  [[nodiscard]] bool plain(int memory) const;
  [[nodiscard]] bool fixed(int memory) const;
  [[nodiscard]] bool near(const Step& step, int memory) const;
  void keep_near(const Owned& owned, Step* step);
  unsigned make_iterations();
  std::pair<Owned, Owned> divide(const Owned& owned);
  Step queue_step(Kind kind, const Owned& owned, Word value);
  void ask_or_wait(const Owned& owned, std::size_t before, Block* block);
  Kind any_kind(const Block& block);
  void add_step(const Owned& owned, bool changing, Block* block);
  bool fit(const Owned& owned, const Block& block, Step* step);
  bool first_queue(const Owned& owned, Step* step) const;
  [[nodiscard]] bool has_pools() const {
    const std::string_view api = device_.api();
    return (api == "cuda" || api == "hip") && can(portable::Feature::kFreeInOrder);
  }

  Dice& dice_;
  Program& program_;
  const portable::Device& device_;
  bool all_kinds_;
  int next_id_ = 0;
};

}  // namespace property
