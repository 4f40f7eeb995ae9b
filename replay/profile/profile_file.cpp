#include "replay/profile/profile_file.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <unordered_set>
#include <utility>

#include "env/file_name.h"
#include "env/log.h"
#include "env/own_file.h"
#include "env/regular_file.h"

namespace refrain::replay {
namespace {

constexpr std::size_t kMostGraphs = 16'384;     // limit
constexpr std::size_t kMostIntervals = 512;     // limit: of a lane
constexpr std::size_t kMostLanes = 256;         // limit
constexpr std::size_t kMostTokens = 1U << 22U;  // limit: of all lanes, half of the largest file

/// Of the executable file: its beginning, where linkers put the number of the build, and its length.
std::uint64_t hash_of_program() {
  constexpr std::size_t kBeginning = 64U << 10U;  // limit
  const char* const name = "/proc/self/exe";
  std::string bytes(kBeginning, '\0');
  std::ifstream file(name, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::error_code error;
  return XXH3_64bits_withSeed(bytes.data(), static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)),
                              std::filesystem::file_size(name, error));
}

/// What there is to be read. Empty: nothing that is a file, and `why` says so if there is something else.
std::string content_of(const std::string& name, std::string* why) {
  struct stat found {};
  if (::stat(name.c_str(), &found) != 0 && errno == ENOENT) {
    return {};
  }
  std::string content;
  static_cast<void>(env::read_regular_file(name, kLargestProfile, &content, why));
  return content;
}

std::size_t tokens_of(const LaneProfile& lane) noexcept {
  std::size_t tokens = 0;
  for (const KnownPatterns::Pattern& each : lane.patterns.patterns) {
    tokens += each.tokens.size();
  }
  return tokens;
}

/// Those of the earlier run of which this one has found out nothing are still true: there are `most` in all at most.
template <class Element, class Key>
void add_missing(std::vector<Element>& now, const std::vector<Element>& before, Key Element::*key, std::size_t most) {
  std::unordered_set<Key> there;
  for (const Element& each : now) {
    there.insert(each.*key);
  }
  for (const Element& each : before) {
    if (now.size() < most && !there.contains(each.*key)) {
      now.push_back(each);
    }
  }
}

}  // namespace

ProfileFile::ProfileFile(const env::Settings& settings) noexcept : mode_(env::permissions(settings.file_mode)) {
  if (settings.profile.empty() || !env::replays(settings)) {
    return;
  }
  try {
    name_ = std::filesystem::absolute(env::FileName(settings.profile).text());
    wanted_ = true;
  } catch (const std::exception& error) {
    env::log_warning({"no profile is used or written: ", error.what()});
  }
}

void ProfileFile::read(const std::string& device, const std::string& driver) noexcept {
  if (!wanted_ || ready()) {
    return;
  }
  const env::MutexLock guard(mutex_);
  if (std::exchange(read_, true)) {
    return;
  }
  try {
    try_to_read(device, driver);
  } catch (const std::exception& error) {
    env::log_warning({"the profile '", name_, "' is not used: ", error.what()});
  }
  ready_.store(true, std::memory_order_release);
}

void ProfileFile::try_to_read(const std::string& device, const std::string& driver) {
  origin_ = {REFRAIN_VERSION, device, driver, hash_of_program()};
  std::string why;
  const std::string content = content_of(name_, &why);
  if (content.empty() && why.empty()) {
    if (const std::error_code error = env::OwnFile::obstacle_to_replace(name_)) {
      foreign_ = true;
      env::log_warning("the profile '" + name_ + "' (setting profile) is not written: " + error.message());
      return;
    }
    env::log_info("the profile '" + name_ + "' is not there yet: it is written at the end");
    return;
  }
  bool ours = false;
  std::optional<Profile> found;
  if (why.empty()) {
    const auto bytes = std::as_bytes(std::span(content));
    ours = is_profile(bytes);
    found = decoded(bytes, &why);
  }
  if (found.has_value()) {
    why = difference(found->origin, origin_);
  }
  foreign_ = !ours;
  if (!why.empty()) {
    env::log_warning("the profile '" + name_ + "' is not used: " + why +
                     (foreign_ ? "; none is written" : "; it is written anew at the end"));
    return;
  }
  before_ = *std::move(found);
  env::log_debug("the profile '" + name_ + "' is used");
}

std::optional<LaneProfile> ProfileFile::take(std::uint64_t lane) noexcept {
  const env::MutexLock guard(mutex_);
  const auto found = std::ranges::find(before_.lanes, lane, &LaneProfile::number);
  try {
    return found == before_.lanes.end() ? std::nullopt : std::optional(*found);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<GraphEntry::Known> ProfileFile::graphs() noexcept {
  const env::MutexLock guard(mutex_);
  try {
    return before_.graphs;
  } catch (const std::exception&) {
    return {};
  }
}

void ProfileFile::keep(LaneProfile lane) noexcept {
  const env::MutexLock guard(mutex_);
  try {
    const auto known = std::ranges::find(lanes_, lane.number, &LaneProfile::number);
    if (known != lanes_.end()) {
      *known = std::move(lane);
    } else if (lanes_.size() < kMostLanes && !lane.patterns.empty()) {
      lanes_.push_back(std::move(lane));
    }
  } catch (const std::exception&) {
    // The next run learns it again.
  }
}

void ProfileFile::write(std::vector<GraphEntry::Known> graphs) noexcept {
  const env::MutexLock guard(mutex_);
  if (!wanted_ || foreign_ || !ready()) {
    return;
  }
  if (lanes_.empty()) {
    env::log(env::LogLevel::kInfo, {"the profile '", name_, "' is not written: no thread has left what it learnt"});
    return;
  }
  try {
    try_to_write(std::move(graphs));
  } catch (const std::exception& error) {
    env::log_warning({"the profile '", name_, "' is not written: ", error.what()});
  }
}

void ProfileFile::try_to_write(std::vector<GraphEntry::Known> graphs) {
  Profile profile;
  profile.origin = origin_;
  profile.lanes = lanes_;
  profile.graphs = std::move(graphs);
  profile.graphs.resize(std::min(profile.graphs.size(), kMostGraphs));
  for (LaneProfile& lane : profile.lanes) {
    const auto before = std::ranges::find(before_.lanes, lane.number, &LaneProfile::number);
    if (before != before_.lanes.end()) {
      add_missing(lane.intervals, before->intervals, &KnownInterval::hash, kMostIntervals);
    }
  }
  add_missing(profile.lanes, before_.lanes, &LaneProfile::number, kMostLanes);
  add_missing(profile.graphs, before_.graphs, &GraphEntry::Known::fingerprint, kMostGraphs);
  std::size_t tokens = 0;
  std::erase_if(profile.lanes, [&](const LaneProfile& lane) { return (tokens += tokens_of(lane)) > kMostTokens; });
  const std::vector<std::byte> bytes = encoded(profile);
  if (profile == before_ || bytes.size() > kLargestProfile) {
    return;
  }
  if (const std::error_code error = env::OwnFile().replace(name_, mode_, bytes)) {
    env::log_warning("the profile '" + name_ + "' is not written: " + error.message());
  }
}

}  // namespace refrain::replay
