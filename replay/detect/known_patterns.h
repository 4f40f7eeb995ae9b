// What a lane's matcher has learnt, as plain data: for who keeps it for the next run of the program.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/detect/history.h"

namespace refrain::replay {

/// Indices are those of `patterns`. Whatever is in it, Matcher::learn() makes sense of it or leaves it out: a pattern
/// that is wrong is a prediction that fails.
struct KnownPatterns {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};  // format

  struct Pattern {
    std::vector<Token> tokens;  ///< one period of a loop, or a stretch that ends
    std::vector<Cut> cuts;      ///< what stands for each of them
    bool loop = false;
    bool after_cut = false;      ///< of what ends: it stands behind a cut
    std::uint32_t inner = 0;     ///< tokens of a loop within it; 0: none is known
    std::uint32_t next = kNone;  ///< of what ends: what was seen to follow
    friend bool operator==(const Pattern&, const Pattern&) = default;
  };
  /// From an offset of one pattern a token was seen to lead to the place behind it in another one.
  struct Edge {
    Token token = 0;
    std::uint32_t from = 0, from_offset = 0;
    std::uint32_t to = 0, to_offset = 0;
    std::uint32_t uses = 0;
    friend bool operator==(const Edge&, const Edge&) = default;
  };

  std::vector<Pattern> patterns;  ///< the one that was in use last is the last one
  std::vector<Edge> edges;

  [[nodiscard]] bool empty() const noexcept { return patterns.empty(); }
  friend bool operator==(const KnownPatterns&, const KnownPatterns&) = default;
};

}  // namespace refrain::replay
