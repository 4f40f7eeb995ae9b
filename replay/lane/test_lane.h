// For tests: a lane that applies the matcher's actions to a queue of tokens and checks every one of them.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "replay/detect/matcher.h"

namespace refrain::replay {

/// Tokens from `first` on.
inline std::vector<Token> body(std::uint32_t length, Token first) {
  std::vector<Token> result(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    result[i] = first + i;
  }
  return result;
}

class TestLane {
 public:
  explicit TestLane(const MatcherOptions& options, ChunkMode initial = ChunkMode::kHold)
      : options_(options), matcher(options), initial_(initial) {
    matcher.set_initial_mode(initial);
  }

  void feed(Token token, bool holdable = true) {
    ++operations;
    queue_.push_back({token, operations});
    const bool last = ending.contains(token);
    apply(matcher.feed(token, holdable, last), holdable && !last ? options_.chunk_cap : 0);
    if (!holdable) {
      need(queue_.empty());
      breaks_recording();
      return;
    }
    record(token);
    if (last) {
      breaks_recording();
    }
  }
  void cut(Token identity = capture::kHostCallToken) {
    apply(matcher.cut(identity), 0);
    need(queue_.empty());
    breaks_recording();
  }
  void expire() {
    apply(matcher.expire(), 0);
    need(queue_.empty());
  }
  void feed_all(std::span<const Token> tokens) {  // 0: a host call
    for (const Token token : tokens) {
      token == capture::kHostCallToken ? cut() : feed(token);
    }
  }

  /// Share of the operations from number `from` (from 0) on that were launched.
  [[nodiscard]] double coverage(std::uint64_t from = 0) const {
    std::uint64_t count = 0;
    for (const std::uint64_t number : launched) {
      count += number > from ? 1 : 0;
    }
    return operations == from ? 0 : static_cast<double>(count) / static_cast<double>(operations - from);
  }

  std::set<Token> ending;  ///< those behind which nothing is held
  std::uint64_t operations = 0;
  std::uint64_t launches = 0;
  std::vector<std::uint64_t> launched;           ///< numbers (from 1) of the operations, in order
  std::map<ChunkId, std::uint64_t> launched_by;  ///< how often each chunk
  std::map<ChunkId, std::uint64_t> completed;    ///< how often each was reported complete in kRecord
  std::uint64_t largest = 0;
  /// kRecord chunks become kBypass when they were seen complete, and kHold so many operations later.
  std::uint64_t build_time = 0;

 private:
  struct Entry {
    Token token;
    std::uint64_t number;
  };

  // Millions of checks: Catch's own are too slow for that.
  static void need(bool condition, int line = __builtin_LINE()) {
    if (!condition) {
      FAIL("line " << line);
    }
  }

  void apply(std::span<const Action> actions, std::uint64_t may_stay) {
    for (const Action& action : actions) {
      need(action.count > 0 && action.count <= queue_.size());
      if (action.kind == Action::Kind::kLaunch) {
        const std::vector<Token> tokens = matcher.tokens_of(action.chunk);
        need(tokens.size() == action.count && action.count >= options_.min_chunk && action.count <= options_.chunk_cap);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
          need(queue_[i].token == tokens[i]);
          need(i + 1 == tokens.size() || !ending.contains(tokens[i]));
          launched.push_back(queue_[i].number);
        }
        ++launches;
        ++launched_by[action.chunk];
        need(initial_ == ChunkMode::kHold || ready_.count(action.chunk) != 0);
      }
      need(queue_.front().number == ++gone_);
      gone_ += action.count - 1;
      queue_.erase(queue_.begin(), queue_.begin() + action.count);
    }
    need(queue_.size() == matcher.held() && queue_.size() <= may_stay);
    largest = std::max<std::uint64_t>(largest, queue_.size());
  }

  void record(Token token) {
    const Following& following = matcher.following();
    while (!building_.empty() && building_.front().second <= operations) {
      ready_.insert(building_.front().first);
      matcher.set_mode(building_.front().first, ChunkMode::kHold);
      building_.pop_front();
    }
    if (following.chunk == kNoChunk) {
      breaks_recording();
      return;
    }
    need(queue_.empty() && following.mode != ChunkMode::kHold);
    if (following.position == 0) {
      recorded_ = following.chunk;
      tokens_.clear();
    }
    // Without a gap since the beginning, and always the same chunk.
    need(recorded_ == following.chunk && tokens_.size() == following.position);
    tokens_.push_back(token);
    need(following.complete == (matcher.tokens_of(following.chunk).size() == tokens_.size()));
    if (following.complete) {
      need(matcher.tokens_of(following.chunk) == tokens_);
      if (following.mode == ChunkMode::kRecord && matcher.mode(following.chunk) == ChunkMode::kRecord) {
        ++completed[following.chunk];
        matcher.set_mode(following.chunk, ChunkMode::kBypass);
        building_.emplace_back(following.chunk, operations + build_time);
      }
      breaks_recording();
    }
  }

  void breaks_recording() {
    recorded_ = kNoChunk;
    tokens_.clear();
  }

  MatcherOptions options_;

 public:
  Matcher matcher;

 private:
  ChunkMode initial_;
  std::deque<Entry> queue_;
  std::uint64_t gone_ = 0;
  ChunkId recorded_ = kNoChunk;
  std::vector<Token> tokens_;
  std::deque<std::pair<ChunkId, std::uint64_t>> building_;
  std::set<ChunkId> ready_;
};

}  // namespace refrain::replay
