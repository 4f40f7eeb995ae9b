// Patterns of a store as plain data, and back.
#include "replay/detect/known_patterns.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "replay/detect/matcher.h"
#include "replay/tuning.h"

namespace refrain::replay {
namespace {

constexpr std::uint32_t kMostUnused = 1U << 16U;  // limit: tokens

/// A pattern does not keep the cuts themselves: they follow from where its runs begin and end.
std::vector<Cut> cuts_of(const Pattern& pattern, std::uint32_t length) {
  std::vector<Cut> cuts(length, Cut::kWait);
  for (const Run& run : pattern.runs) {
    const std::uint32_t end = std::min(run.end, length);
    std::fill(cuts.begin() + std::min(run.start, end), cuts.begin() + end, Cut::kNone);
    if (run.ends_itself && run.end <= length) {
      cuts[run.end - 1] = Cut::kBehind;
    } else if (!run.before_wait && run.end < length) {
      cuts[run.end] = Cut::kQuiet;
    }
  }
  return cuts;
}

bool has_cuts(const KnownPatterns::Pattern& known) noexcept {
  return std::ranges::any_of(known.cuts, [](Cut cut) { return cut != Cut::kNone; });
}

}  // namespace

KnownPatterns PatternStore::known() const {
  KnownPatterns result;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;  // by id + 1, as edges have it
  std::vector<const Pattern*> kept;
  std::uint32_t tokens = 0;
  for (const Pattern* pattern = newest_; pattern != nullptr; pattern = pattern->older) {
    tokens += pattern->length;
    // What only comes from data may be of use to another run, but what no run uses must not become more and more.
    if (pattern->complete() && (pattern->touched != 0 || tokens <= kMostUnused)) {
      kept.push_back(pattern);
    }
  }
  std::ranges::reverse(kept);
  for (const Pattern* pattern : kept) {
    const std::uint32_t length = pattern->unit != 0 ? pattern->unit : pattern->length;
    numbers.emplace(pattern->id + 1, static_cast<std::uint32_t>(result.patterns.size()));
    KnownPatterns::Pattern& made = result.patterns.emplace_back();
    made.tokens.assign(pattern->tokens, pattern->tokens + length);
    made.cuts = cuts_of(*pattern, length);
    made.loop = pattern->period != 0;
    made.after_cut = pattern->after_cut;
    made.inner = pattern->inner;
    made.next = pattern->next;
  }
  for (KnownPatterns::Pattern& each : result.patterns) {
    const auto next = each.next == kNoIndex ? numbers.end() : numbers.find(each.next + 1);
    each.next = next == numbers.end() ? KnownPatterns::kNone : next->second;
  }
  for (std::size_t i = 0; !edges_.empty() && i <= edge_mask_; ++i) {
    const Edge& edge = edges_[i];
    const auto from = numbers.find(edge.from);
    const auto to = numbers.find(edge.to);
    if (edge.from != 0 && from != numbers.end() && to != numbers.end()) {
      result.edges.push_back({edge.token, from->second, edge.from_offset, to->second, edge.to_offset, edge.uses});
    }
  }
  return result;
}

Pattern* PatternStore::add_known(const KnownPatterns::Pattern& known) {
  const std::size_t length = known.tokens.size();
  // Nothing that is there goes for it; a short loop is unrolled to the longest chunk.
  if (length == 0 || length != known.cuts.size() || length + options_.chunk_cap > options_.max_nodes - nodes_ ||
      patterns_.size() >= kMaxPatterns) {
    return nullptr;
  }
  const bool cuts = has_cuts(known);
  const auto tokens = static_cast<std::uint32_t>(length);
  Pattern* const made = make(tokens, known.loop ? tokens : 0, cuts, known.loop ? cuts : known.after_cut, nullptr,
                             std::min(known.inner, tokens / 2));
  if (made == nullptr) {
    return nullptr;
  }
  for (std::size_t i = 0; i < length; ++i) {
    append(*made, known.tokens[i], known.cuts[i]);
  }
  build(*made, made->length);  // further rounds of what is unrolled, and what is done at the end
  return made;
}

std::vector<const Pattern*> PatternStore::learn(const KnownPatterns& known) {
  std::vector<const Pattern*> made;
  std::vector<Pattern*> patterns(known.patterns.size(), nullptr);
  // Where not all have room, what was in use last is worth most. It is made last, as it was: of equal stretches the
  // newest one is found.
  std::size_t first = patterns.size();
  std::size_t room = options_.max_nodes - nodes_;
  for (; first != 0; --first) {
    const std::size_t tokens = std::max<std::size_t>(known.patterns[first - 1].tokens.size(), options_.chunk_cap);
    if (tokens > room) {
      break;
    }
    room -= tokens;
  }
  for (std::size_t i = first; i < patterns.size(); ++i) {
    patterns[i] = add_known(known.patterns[i]);
    if (patterns[i] != nullptr) {
      made.push_back(patterns[i]);
    }
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::uint32_t next = known.patterns[i].next;
    if (patterns[i] != nullptr && next < patterns.size() && patterns[next] != nullptr) {
      patterns[i]->next = patterns[next]->id;
    }
  }
  for (const KnownPatterns::Edge& edge : known.edges) {
    if (edge.from >= patterns.size() || edge.to >= patterns.size()) {
      continue;
    }
    Pattern* const from = patterns[edge.from];
    Pattern* const to = patterns[edge.to];
    if (from == nullptr || to == nullptr || edge.from_offset > from->length || edge.to_offset > to->length) {
      continue;
    }
    learn_edge(*from, edge.from_offset, edge.token, {to, edge.to_offset});
    for (std::uint32_t use = 0; use < std::min<std::uint32_t>(edge.uses, tuning::kNoChance); ++use) {
      static_cast<void>(follow_edge(*from, edge.from_offset, edge.token));  // divides where it branches often
    }
  }
  return made;
}

KnownPatterns Matcher::known() const {
  return store_.known();
}

void Matcher::learn(const KnownPatterns& known) {
  if (history_.size() != 0 || !store_.empty()) {
    return;  // what was seen in this process is worth more
  }
  for (const Pattern* pattern : store_.learn(known)) {
    if (pattern->period != 0) {
      loops_[pattern->period % loops_.size()] = {pattern->period, pattern->id};
      inner_ = pattern->runs.size() == 1 && pattern->runs.front().end == pattern->length ? pattern->period : inner_;
    }
  }
}

}  // namespace refrain::replay
