// Folds a lane's sequence of occurrences into loops while it grows: A A A B A A A B … becomes
// 1000 × (3 × A, B). Memory is bounded: what is far enough back can change no more and is taken away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/model.h"

namespace refrain::capture {

/// One occurrence or one loop, with sums over everything that was folded into it.
struct Folded {
  HistoryItem item;  // item.body is not used: `body` is
  std::vector<Folded> body;
  std::uint64_t shape = 0;  // equal structure, equal shape (what repeats inside counts, `repeat` does not)
  std::uint32_t depth = 0;
  std::size_t items = 1;  // itself and all in its body
};

/// Not thread-safe.
class HistoryFolder {
 public:
  /// `occurrence` is a leaf with repeat = total = 1.
  void add(const HistoryItem& occurrence);
  /// Outermost items that will not change any more; they are handed out once.
  std::vector<Folded> take_closed();
  /// The others, as they are now. Valid until the next call.
  [[nodiscard]] const std::vector<Folded>& open() const noexcept { return items_; }

  /// Longest loop body found, in items.
  static constexpr std::size_t kMaxBody = 256;

 private:
  void fold();
  bool turn_again(std::size_t length);
  bool turn_first(std::size_t length);
  void push(Folded folded);
  void truncate(std::size_t count);
  void refresh(std::size_t place);

  std::vector<Folded> items_;
  // Per item, for quick comparison: its hash, and the hash of the last item inside it (0: a leaf).
  std::vector<std::uint64_t> hashes_, inner_hashes_;
};

/// Appends items in the order of the model (loops before their bodies), item.body set.
void flatten(const std::vector<Folded>& items, std::vector<HistoryItem>& into);

}  // namespace refrain::capture
