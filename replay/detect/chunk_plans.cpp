#include "replay/detect/chunk_plans.h"

#include <algorithm>

namespace refrain::replay {
namespace {

MatcherOptions sane(MatcherOptions options) noexcept {
  options.chunk_cap = std::clamp(options.chunk_cap, 1U, 1U << 20U);
  options.chunk_first = std::clamp(options.chunk_first, 1U, options.chunk_cap);
  options.chunk_growth = std::max(options.chunk_growth, 1U);
  options.history = std::clamp(options.history, 64U, 1U << 22U);
  options.max_nodes = std::clamp(options.max_nodes, 64U, 1U << 28U);
  options.min_chunk = std::max(options.min_chunk, 1U);
  options.chunk_last =
      options.chunk_last == 0
          ? 0
          : std::clamp(options.chunk_last, std::min(options.min_chunk, options.chunk_cap), options.chunk_cap);
  return options;
}

}  // namespace

ChunkPlans::ChunkPlans(const MatcherOptions& options) noexcept : options_(sane(options)), longest_(options_.chunk_cap) {
  plans_.fill({{options_.chunk_first, options_.chunk_growth, options_.chunk_cap, options_.chunk_last}, 0});
}

bool ChunkPlans::set(std::uint32_t plan, const ChunkLengths& lengths) noexcept {
  ChunkLengths& mine = plans_[plan].lengths;
  mine.most = std::clamp(lengths.most, std::min(std::max(options_.min_chunk, 2U), longest_), longest_);
  mine.first = std::clamp(lengths.first, 1U, mine.most);
  mine.growth = std::max(lengths.growth, 1U);
  mine.last = std::min(lengths.last, mine.most);
  plans_[plan].number = ++numbers_;
  return plan == used_;
}

void ChunkPlans::use(std::uint32_t plan) noexcept {
  used_ = plan;
  const ChunkLengths& lengths = plans_[plan].lengths;
  options_.chunk_cap = lengths.most;
  options_.chunk_first = lengths.first;
  options_.chunk_growth = lengths.growth;
  options_.chunk_last = lengths.last;
}

}  // namespace refrain::replay
