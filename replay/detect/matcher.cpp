#include "replay/detect/matcher.h"

#include "replay/detect/follower.h"

namespace refrain::replay {

struct Matcher::Implementation {
  explicit Implementation(const MatcherOptions& options) : follower(options) {}
  Follower follower;
};

Matcher::Matcher(const MatcherOptions& options) : impl_(std::make_unique<Implementation>(options)) {}
Matcher::~Matcher() = default;

[[gnu::hot, gnu::flatten]] std::span<const Action> Matcher::feed(Token token, bool holdable) {
  if (holdable) {
    impl_->follower.feed(token);
  } else {
    impl_->follower.cut(token, Cut::kWait, true);
  }
  return impl_->follower.window().actions();
}

[[gnu::hot]] std::span<const Action> Matcher::cut(Token identity, bool waits) {
  impl_->follower.cut(identity, waits ? Cut::kWait : Cut::kQuiet, false);
  return impl_->follower.window().actions();
}

std::span<const Action> Matcher::expire() {
  impl_->follower.expire();
  return impl_->follower.window().actions();
}

[[gnu::hot]] const Following& Matcher::following() const noexcept {
  return impl_->follower.window().following();
}
std::uint32_t Matcher::held() const noexcept {
  return impl_->follower.window().held();
}
[[gnu::hot]] Holding Matcher::holding() const noexcept {
  return impl_->follower.window().holding();
}
[[gnu::hot]] Holding Matcher::next_chunk() noexcept {
  return impl_->follower.next_chunk();
}
[[gnu::hot]] void Matcher::forget_held() noexcept {
  impl_->follower.forget_held();
}
void Matcher::set_initial_mode(ChunkMode mode) noexcept {
  impl_->follower.chunks().set_initial_mode(mode);
}
void Matcher::set_mode(ChunkId chunk, ChunkMode mode) noexcept {
  impl_->follower.chunks().set_mode(chunk, mode);
}
ChunkMode Matcher::mode(ChunkId chunk) const noexcept {
  return impl_->follower.chunks().mode(chunk);
}
std::vector<Token> Matcher::tokens_of(ChunkId chunk) const {
  return impl_->follower.chunks().tokens_of(chunk);
}
std::size_t Matcher::evicted() const noexcept {
  return impl_->follower.chunks().evicted();
}

std::vector<ChunkId> Matcher::take_evicted() {
  return impl_->follower.chunks().take_evicted();
}
void Matcher::set_lengths(std::uint32_t way, const ChunkLengths& lengths) noexcept {
  impl_->follower.set_lengths(way, lengths);
}
void Matcher::use_lengths(std::uint32_t way) noexcept {
  impl_->follower.use_lengths(way);
}
void Matcher::set_detecting(bool on) noexcept {
  impl_->follower.set_detecting(on);
}
MatcherStats Matcher::stats() const {
  return impl_->follower.stats();
}

}  // namespace refrain::replay
