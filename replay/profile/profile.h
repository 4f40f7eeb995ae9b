// What a run of a program has learnt, as data, and as the bytes of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/detect/known_patterns.h"
#include "replay/graph/graph_entry.h"
#include "replay/policy/chunk_tuner.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {

/// Where it was learnt: what was measured elsewhere says nothing, and tokens of another Refrain are other ones.
struct ProfileOrigin {
  std::string refrain;        ///< version
  std::string device;         ///< of the first queue
  std::string driver;         ///< its version
  std::uint64_t program = 0;  ///< hash of the executable file
  friend bool operator==(const ProfileOrigin&, const ProfileOrigin&) = default;
};

/// Of one lane.
struct LaneProfile {
  std::uint64_t number = 0;
  KnownPatterns patterns;
  ChunkTuner::Pace pace;
  std::vector<KnownInterval> intervals;
  friend bool operator==(const LaneProfile&, const LaneProfile&) = default;
};

struct Profile {
  ProfileOrigin origin;
  std::vector<LaneProfile> lanes;
  std::vector<GraphEntry::Known> graphs;
  friend bool operator==(const Profile&, const Profile&) = default;
};

/// A larger file is not read, and nothing larger is written: patterns that were in use last come first.
inline constexpr std::size_t kLargestProfile = 64U << 20U;  // limit

/// May throw std::bad_alloc.
[[nodiscard]] std::vector<std::byte> encoded(const Profile& profile);
/// Whether they may be a profile's, a damaged one's perhaps.
[[nodiscard]] bool is_profile(std::span<const std::byte> bytes) noexcept;
/// Nothing, and `why`, if the bytes are not what encoded() gives. Counts and numbers in it may be any. The same.
[[nodiscard]] std::optional<Profile> decoded(std::span<const std::byte> bytes, std::string* why);
/// Why a profile of there is of no use here; empty: it is.
[[nodiscard]] std::string difference(const ProfileOrigin& there, const ProfileOrigin& here);

}  // namespace refrain::replay
