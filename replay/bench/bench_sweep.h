// Which chunk size of a graph was the fastest, and by how much.
#pragma once

#include <vector>

#include "replay/bench/bench_report.h"

namespace refrain::replay {

struct BestChunk {
  BenchRow best;
  struct Other {
    std::uint32_t chunk = 0;
    TimeRatio ratio;  ///< its time / the best one's
  };
  TimeRatio eager;            ///< the same of eager runs: below 1, they are faster than every size
  std::vector<Other> others;  ///< the next one first
};

/// Of each graph that was measured with several sizes. Rows of a graph stand together.
std::vector<BestChunk> best_chunks(const std::vector<BenchRow>& rows);

/// "graph 3: chunk 8, 12.1 us; eager: 1.20 (1.18-1.22) times as long; …"
std::string text_of(const BestChunk& best);

}  // namespace refrain::replay
