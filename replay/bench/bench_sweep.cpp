#include "replay/bench/bench_sweep.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::replay {

std::vector<BestChunk> best_chunks(const std::vector<BenchRow>& rows) {
  std::vector<BestChunk> found;
  for (auto first = rows.begin(), next = first; first != rows.end(); first = next) {
    next = std::find_if(first, rows.end(), [&](const BenchRow& row) { return row.graph != first->graph; });
    if (next - first < 2) {
      continue;
    }
    const auto best =
        std::min_element(first, next, [](const auto& a, const auto& b) { return a.native.median < b.native.median; });
    BestChunk& chunk = found.emplace_back(BestChunk{*best, ratio_of(best->eager, best->native), {}});
    for (auto row = first; row != next; ++row) {
      if (row != best) {
        chunk.others.push_back({row->chunk, ratio_of(row->native, best->native)});
      }
    }
    std::ranges::stable_sort(chunk.others, {}, [](const BestChunk::Other& other) { return other.ratio.value; });
  }
  return found;
}

std::string text_of(const BestChunk& best) {
  std::string text = fmt::format("graph {}: chunk {}, {:.1f} us; eager: {} times as long", best.best.graph,
                                 text_of_chunk(best.best.chunk), best.best.native.median, text_of(best.eager));
  for (const BestChunk::Other& other : best.others) {
    // The next one, and what bench measures without a sweep.
    if (&other == &best.others.front() || other.chunk == 0) {
      text += fmt::format("; {}: {} times", text_of_chunk(other.chunk), text_of(other.ratio));
    }
  }
  std::string alike;
  for (const BestChunk::Other& other : best.others) {
    if (verdict_of(other.ratio) == Verdict::kNoDifference) {
      alike += (alike.empty() ? "" : ", ") + text_of_chunk(other.chunk);
    }
  }
  return alike.empty() ? text : text + "; no difference that can be told: " + alike;
}

}  // namespace refrain::replay
