// Any bytes as a profile, and what can be read of them as what a lane has learnt. The first byte says whether the
// checksum is to be right: nearly nothing else would get as far.
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "replay/detect/matcher.h"
#include "replay/profile/profile.h"

namespace {

using namespace refrain::replay;

void use(const KnownPatterns& known) {
  MatcherOptions options;
  options.history = 1024;
  options.max_nodes = 4096;
  Matcher matcher(options);
  matcher.learn(known);
  matcher.set_initial_mode(ChunkMode::kHold);
  for (std::size_t i = 0; i < known.patterns.size() && i < 8; ++i) {
    for (std::size_t at = 0; at < known.patterns[i].tokens.size() && at < 256; ++at) {
      matcher.feed(known.patterns[i].tokens[at], at % 16 != 15);
    }
    matcher.cut();
  }
  if (matcher.stats().nodes > options.max_nodes) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::vector<std::byte> bytes(size - 1);
  if (size > 1) {
    std::memcpy(bytes.data(), data + 1, size - 1);
  }
  constexpr std::size_t kHead = 16, kChecksum = 8;
  if (data[0] % 2 == 0 && bytes.size() > kHead) {
    const std::uint64_t checksum = XXH3_64bits(bytes.data() + kHead, bytes.size() - kHead);
    std::memcpy(bytes.data() + kChecksum, &checksum, sizeof(checksum));
  }
  std::string why;
  const auto profile = decoded(bytes, &why);
  if (!profile.has_value()) {
    if (why.empty()) {
      std::abort();  // who is told nothing can do nothing
    }
    return 0;
  }
  for (const LaneProfile& lane : profile->lanes) {
    use(lane.patterns);
  }
  if (decoded(encoded(*profile), &why) != profile) {
    std::abort();
  }
  return 0;
}
