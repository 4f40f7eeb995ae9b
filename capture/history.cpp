#include "capture/history.h"

#include <algorithm>
#include <utility>

namespace refrain::capture {
namespace {

std::uint64_t leaf_shape(const HistoryItem& item) {
  return mix(mix(std::uint64_t{item.graph} << 32U | item.set, item.ended_by), 1);
}

std::uint64_t whole_shape(const Folded& folded) {
  return mix(folded.shape, folded.item.repeat);
}

bool same_inside(const Folded& a, const Folded& b);

bool same(const Folded& a, const Folded& b) {
  return a.item.repeat == b.item.repeat && same_inside(a, b);
}

// Equal but for how often.
bool same_inside(const Folded& a, const Folded& b) {
  if (a.shape != b.shape || a.body.size() != b.body.size()) {
    return false;
  }
  if (a.body.empty()) {
    return a.item.graph == b.item.graph && a.item.set == b.item.set && a.item.ended_by == b.item.ended_by;
  }
  return std::equal(a.body.begin(), a.body.end(), b.body.begin(), same);
}

// Adds the figures of `later`, which has the same structure, to `earlier`.
void merge_figures(Folded& earlier, const Folded& later) {
  earlier.item.total += later.item.total;
  earlier.item.first_ns = std::min(earlier.item.first_ns, later.item.first_ns);
  earlier.item.last_ns = std::max(earlier.item.last_ns, later.item.last_ns);
  earlier.item.host_ns += later.item.host_ns;
  earlier.item.span_ns += later.item.span_ns;
  for (std::size_t i = 0; i < earlier.body.size(); ++i) {
    merge_figures(earlier.body[i], later.body[i]);
  }
}

}  // namespace

void HistoryFolder::push(Folded folded) {
  items_.push_back(std::move(folded));
  hashes_.push_back(0);
  inner_hashes_.push_back(0);
  refresh(items_.size() - 1);
}

void HistoryFolder::truncate(std::size_t count) {
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(count), items_.end());
  hashes_.resize(count);
  inner_hashes_.resize(count);
}

void HistoryFolder::refresh(std::size_t place) {
  const Folded& folded = items_[place];
  hashes_[place] = whole_shape(folded);
  inner_hashes_[place] = folded.body.empty() ? 0 : whole_shape(folded.body.back());
}

void HistoryFolder::add(const HistoryItem& occurrence) {
  Folded leaf;
  leaf.item = occurrence;
  leaf.shape = leaf_shape(occurrence);
  if (!items_.empty() && items_.back().body.empty() && same_inside(items_.back(), leaf)) {
    items_.back().item.repeat += occurrence.repeat;
    merge_figures(items_.back(), leaf);
    return;
  }
  // The newest item can grow no more: only now may it be compared with earlier ones.
  if (!items_.empty()) {
    refresh(items_.size() - 1);
    fold();
  }
  push(std::move(leaf));
}

void HistoryFolder::fold() {
  for (bool folded = true; folded;) {
    folded = false;
    const std::size_t count = items_.size();
    const std::uint64_t last = hashes_.back();
    for (std::size_t length = 1; length < count && length <= kMaxBody; ++length) {
      const std::size_t before = count - 1 - length;
      if (inner_hashes_[before] == last && turn_again(length)) {
        folded = true;  // one more turn of the loop that came before
        break;
      }
      if (hashes_[before] == last && count >= 2 * length && turn_first(length)) {
        folded = true;  // the second turn of a new loop
        break;
      }
    }
  }
}

bool HistoryFolder::turn_again(std::size_t length) {
  const auto tail = items_.end() - static_cast<std::ptrdiff_t>(length);
  Folded& loop = *(tail - 1);
  if (loop.body.size() != length || !std::equal(loop.body.begin(), loop.body.end(), tail, same)) {
    return false;
  }
  for (std::size_t i = 0; i < length; ++i) {
    merge_figures(loop.body[i], tail[static_cast<std::ptrdiff_t>(i)]);
  }
  loop.item.repeat += 1;
  loop.item.total += 1;
  loop.item.last_ns = std::max(loop.item.last_ns, items_.back().item.last_ns);
  truncate(items_.size() - length);
  refresh(items_.size() - 1);
  return true;
}

bool HistoryFolder::turn_first(std::size_t length) {
  const auto tail = items_.end() - static_cast<std::ptrdiff_t>(length);
  const auto first = tail - static_cast<std::ptrdiff_t>(length);
  if (!std::equal(first, tail, tail, same)) {
    return false;
  }
  Folded loop;
  loop.shape = 2;
  for (auto item = first; item != tail; ++item) {
    loop.depth = std::max(loop.depth, item->depth + 1);
    loop.items += item->items;
    loop.shape = mix(loop.shape, whole_shape(*item));
  }
  if (loop.depth >= format::kMaxHistoryDepth || loop.items > format::kMaxLoopItems) {
    return false;
  }
  loop.item.repeat = loop.item.total = 2;
  loop.item.first_ns = first->item.first_ns;
  loop.item.last_ns = items_.back().item.last_ns;
  for (std::size_t i = 0; i < length; ++i) {
    merge_figures(first[static_cast<std::ptrdiff_t>(i)], tail[static_cast<std::ptrdiff_t>(i)]);
    loop.body.push_back(std::move(first[static_cast<std::ptrdiff_t>(i)]));
  }
  truncate(items_.size() - 2 * length);
  push(std::move(loop));
  return true;
}

std::vector<Folded> HistoryFolder::take_closed() {
  std::vector<Folded> closed;
  // Two turns of the longest loop must stay, and the one that grows.
  constexpr std::size_t kKeep = 2 * kMaxBody + 1;
  std::size_t keep = 0;
  for (std::size_t items = 0; keep < std::min(kKeep, items_.size()); ++keep) {
    items += items_[items_.size() - 1 - keep].items;
    if (items > format::kMaxOpenItems) {
      break;
    }
  }
  if (items_.size() > keep) {
    const auto count = static_cast<std::ptrdiff_t>(items_.size() - keep);
    closed.assign(std::make_move_iterator(items_.begin()), std::make_move_iterator(items_.begin() + count));
    items_.erase(items_.begin(), items_.begin() + count);
    hashes_.erase(hashes_.begin(), hashes_.begin() + count);
    inner_hashes_.erase(inner_hashes_.begin(), inner_hashes_.begin() + count);
  }
  return closed;
}

void flatten(const std::vector<Folded>& items, std::vector<HistoryItem>& into) {
  for (const Folded& folded : items) {
    const std::size_t place = into.size();
    into.push_back(folded.item);
    flatten(folded.body, into);
    into[place].body = static_cast<std::uint32_t>(into.size() - place - 1);
  }
}

}  // namespace refrain::capture
