#include "replay/profile/profile.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "profile_generated.h"

namespace refrain::replay {
namespace {

namespace format = profile_format;

constexpr std::array<char, 8> kLetters{'R', 'F', 'N', 'P', 'R', 'O', 'F', '1'};  // format
/// In front of the table, which is aligned like this.
struct Head {
  std::array<char, 8> letters;
  std::uint64_t checksum;  ///< of all that follows
};

auto encode(flatbuffers::FlatBufferBuilder& builder, const KnownPatterns::Pattern& pattern) {
  static_assert(sizeof(Cut) == 1);
  const bool cuts = pattern.cuts.size() != pattern.tokens.size() ||
                    std::ranges::any_of(pattern.cuts, [](Cut cut) { return cut != Cut::kNone; });
  const auto tokens = builder.CreateVector(pattern.tokens);
  const auto kinds =
      builder.CreateVector(reinterpret_cast<const std::uint8_t*>(pattern.cuts.data()), cuts ? pattern.cuts.size() : 0);
  return format::CreatePattern(builder, tokens, kinds, pattern.loop, pattern.after_cut, pattern.inner, pattern.next);
}

auto encode(flatbuffers::FlatBufferBuilder& builder, const LaneProfile& lane) {
  std::vector<flatbuffers::Offset<format::Pattern>> patterns;
  for (const KnownPatterns::Pattern& each : lane.patterns.patterns) {
    patterns.push_back(encode(builder, each));
  }
  std::vector<format::Edge> edges;
  for (const KnownPatterns::Edge& each : lane.patterns.edges) {
    edges.emplace_back(each.token, each.from, each.from_offset, each.to, each.to_offset, each.uses);
  }
  std::vector<format::Interval> intervals;
  for (const KnownInterval& each : lane.intervals) {
    intervals.emplace_back(each.hash, each.submissions, each.seen, each.in_graphs, each.eager_ns, each.graph_ns,
                           each.whole_eager_ns, each.whole_graph_ns, each.plan);
  }
  const auto all_patterns = builder.CreateVector(patterns);
  const auto all_edges = builder.CreateVectorOfStructs(edges);
  const auto all_intervals = builder.CreateVectorOfStructs(intervals);
  return format::CreateLane(builder, lane.number, all_patterns, all_edges, lane.pace.call_ns, lane.pace.queues,
                            all_intervals);
}

std::string text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : text->str();
}

KnownPatterns::Pattern decode(const format::Pattern& stored) {
  KnownPatterns::Pattern pattern;
  if (stored.tokens() != nullptr) {
    pattern.tokens.assign(stored.tokens()->begin(), stored.tokens()->end());
  }
  pattern.cuts.assign(pattern.tokens.size(), Cut::kNone);
  if (stored.cuts() != nullptr && stored.cuts()->size() != 0) {
    pattern.cuts.assign(stored.cuts()->size(), Cut::kWait);
    for (std::uint32_t i = 0; i < stored.cuts()->size(); ++i) {
      pattern.cuts[i] = static_cast<Cut>(stored.cuts()->Get(i) & 3U);
    }
  }
  pattern.loop = stored.loop();
  pattern.after_cut = stored.after_cut();
  pattern.inner = stored.inner();
  pattern.next = stored.next();
  return pattern;
}

LaneProfile decode(const format::Lane& stored) {
  LaneProfile lane;
  lane.number = stored.number();
  lane.pace = {stored.call_ns(), stored.queues()};
  for (std::uint32_t i = 0; stored.patterns() != nullptr && i < stored.patterns()->size(); ++i) {
    lane.patterns.patterns.push_back(decode(*stored.patterns()->Get(i)));
  }
  for (std::uint32_t i = 0; stored.edges() != nullptr && i < stored.edges()->size(); ++i) {
    const format::Edge& edge = *stored.edges()->Get(i);
    lane.patterns.edges.push_back(
        {edge.token(), edge.from(), edge.from_offset(), edge.to(), edge.to_offset(), edge.uses()});
  }
  for (std::uint32_t i = 0; stored.intervals() != nullptr && i < stored.intervals()->size(); ++i) {
    const format::Interval& each = *stored.intervals()->Get(i);
    lane.intervals.push_back({each.hash(), each.submissions(), each.seen(), each.plan(), each.in_graphs(),
                              each.eager_ns(), each.graph_ns(), each.whole_eager_ns(), each.whole_graph_ns()});
  }
  return lane;
}

}  // namespace

std::vector<std::byte> encoded(const Profile& profile) {
  flatbuffers::FlatBufferBuilder builder;
  const auto origin = format::CreateOrigin(builder, builder.CreateString(profile.origin.refrain),
                                           builder.CreateString(profile.origin.device),
                                           builder.CreateString(profile.origin.driver), profile.origin.program);
  std::vector<flatbuffers::Offset<format::Lane>> lanes;
  for (const LaneProfile& each : profile.lanes) {
    lanes.push_back(encode(builder, each));
  }
  std::vector<format::Graph> graphs;
  for (const GraphEntry::Known& each : profile.graphs) {
    graphs.emplace_back(each.fingerprint, each.eager_ns, each.replay_ns, each.pays);
  }
  const auto all_lanes = builder.CreateVector(lanes);
  const auto all_graphs = builder.CreateVectorOfStructs(graphs);
  builder.Finish(format::CreateProfile(builder, origin, all_lanes, all_graphs));
  const Head head{kLetters, XXH3_64bits(builder.GetBufferPointer(), builder.GetSize())};
  std::vector<std::byte> bytes(sizeof(head) + builder.GetSize());
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), builder.GetBufferPointer(), builder.GetSize());
  return bytes;
}

bool is_profile(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= sizeof(Head) && std::memcmp(bytes.data(), kLetters.data(), kLetters.size()) == 0;
}

std::optional<Profile> decoded(std::span<const std::byte> bytes, std::string* why) {
  if (!is_profile(bytes)) {
    *why = "it is no profile that this Refrain knows";
    return std::nullopt;
  }
  Head head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const std::span<const std::byte> rest = bytes.subspan(sizeof(head));
  std::vector<std::uint64_t> aligned(rest.size() / sizeof(std::uint64_t) + 1);  // as numbers in it are
  std::memcpy(aligned.data(), rest.data(), rest.size());
  const auto* const data = reinterpret_cast<const std::uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, rest.size(), 16, 1U << 20U);
  if (XXH3_64bits(data, rest.size()) != head.checksum || !format::VerifyProfileBuffer(verifier)) {
    *why = "it is damaged";
    return std::nullopt;
  }
  const format::Profile& stored = *format::GetProfile(data);
  Profile profile;
  if (const format::Origin* origin = stored.origin(); origin != nullptr) {
    profile.origin = {text_of(origin->refrain()), text_of(origin->device()), text_of(origin->driver()),
                      origin->program()};
  }
  for (std::uint32_t i = 0; stored.lanes() != nullptr && i < stored.lanes()->size(); ++i) {
    profile.lanes.push_back(decode(*stored.lanes()->Get(i)));
  }
  for (std::uint32_t i = 0; stored.graphs() != nullptr && i < stored.graphs()->size(); ++i) {
    const format::Graph& graph = *stored.graphs()->Get(i);
    profile.graphs.push_back({graph.fingerprint(), graph.pays(), graph.eager_ns(), graph.replay_ns()});
  }
  return profile;
}

std::string difference(const ProfileOrigin& there, const ProfileOrigin& here) {
  if (there.refrain != here.refrain) {
    return "it is of Refrain '" + there.refrain + "', and this is '" + here.refrain + "'";
  }
  if (there.program != here.program) {
    return "it is of another program";
  }
  if (there.device != here.device) {
    return "it is of the device '" + there.device + "', and this is '" + here.device + "'";
  }
  if (there.driver != here.driver) {
    return "it is of the driver '" + there.driver + "', and this is '" + here.driver + "'";
  }
  return {};
}

}  // namespace refrain::replay
